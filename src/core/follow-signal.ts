/** Where a signal keeps what is to be called, as long as anything is. */
const FOLLOWERS = Symbol('remex.followers')

interface FollowedSignal extends AbortSignal {
  [FOLLOWERS]?: Followers
}

/** What follows one signal, by one listener. */
class Followers extends Set<() => void> {
  readonly #signal: FollowedSignal
  readonly #tell: () => void

  constructor(signal: FollowedSignal) {
    super()
    this.#signal = signal
    this.#tell = () => {
      const followers = [...this]
      this.end()
      for (const onAbort of followers) onAbort()
    }
    signal[FOLLOWERS] = this
    signal.addEventListener('abort', this.#tell)
  }

  /** Leaves the signal as it was. */
  end(): void {
    this.clear()
    delete this.#signal[FOLLOWERS]
    this.#signal.removeEventListener('abort', this.#tell)
  }
}

/**
 * Has a function called once when a signal aborts. Returns what ends this, to be called when there is
 * nothing to abort any more. A signal may be that of many calls at a time: all of them share one
 * listener, since Node takes the eleventh for a leak and warns of it.
 */
export function followSignal(signal: AbortSignal, onAbort: () => void): () => void {
  const followed: FollowedSignal = signal
  const followers = followed[FOLLOWERS] ?? new Followers(followed)
  followers.add(onAbort)
  return () => {
    if (followers.delete(onAbort) && followers.size === 0) followers.end()
  }
}
