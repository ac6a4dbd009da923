/** The library of the protocol. */
export type OpenId = typeof import('openid-client')

/** Returns the library. It is loaded with the first flow: most processes never begin one. */
export function loadOpenId(): Promise<OpenId> {
  return import('openid-client')
}
