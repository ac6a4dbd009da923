/** Where a signal keeps what follows it, as long as anything does. */
const FOLLOWERS = Symbol('remex.followers')

interface FollowedSignal extends AbortSignal {
  [FOLLOWERS]?: Set<() => void>
}

/**
 * Has a function called once when a signal aborts. Returns what ends this, to be called when there is
 * nothing to abort any more. A signal may be that of many calls at a time: all of them share one
 * listener, since Node takes the eleventh for a leak and warns of it.
 */
export function followSignal(signal: AbortSignal, onAbort: () => void): () => void {
  const followed: FollowedSignal = signal
  const followers = followed[FOLLOWERS] ?? new Set()
  if (followers.size === 0) {
    followed[FOLLOWERS] = followers
    followed.addEventListener('abort', tellFollowers)
  }
  followers.add(onAbort)
  return () => {
    followers.delete(onAbort)
    // After an abort, others may follow the signal anew.
    if (followers.size === 0 && followed[FOLLOWERS] === followers) release(followed)
  }
}

function tellFollowers(this: FollowedSignal): void {
  const followers = [...(this[FOLLOWERS] ?? [])]
  release(this)
  for (const onAbort of followers) onAbort()
}

/** Leaves a signal as it was before it was followed. */
function release(signal: FollowedSignal): void {
  delete signal[FOLLOWERS]
  signal.removeEventListener('abort', tellFollowers)
}
