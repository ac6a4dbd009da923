/** The property in which a signal keeps its followers, as long as there are any. */
const FOLLOWERS = Symbol('remex.followers')

interface FollowedSignal extends AbortSignal {
  [FOLLOWERS]?: Set<() => void>
}

/**
 * Calls a function once when a signal aborts. Returns a function that ends this, to be called when there is
 * nothing left to abort. Many calls may share a signal, so they share one listener: Node warns of a leak at
 * the eleventh.
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
