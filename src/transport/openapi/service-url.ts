/** One form of URL of a service, as the document writes it. */
export interface ServiceUrl {
  /** The path, with the names of its parameters in braces. */
  readonly path: string
  /** The names of the parameters, in their order. */
  readonly parameters: readonly string[]
}

/** The URLs of a service: all of its records, and one of them. */
export interface ServiceUrls {
  readonly all: ServiceUrl
  readonly one: ServiceUrl
  /** The name of the parameter for the id. */
  readonly id: string
}

/** Returns the URLs of the service at a path, below a prefix. Both may have placeholders. */
export function toServiceUrls(prefix: string, path: string): ServiceUrls {
  const segments = `${prefix}/${path}`.split('/').filter((segment) => segment !== '')
  const parameters = segments.flatMap((segment) =>
    segment.startsWith(':') ? [segment.slice(1)] : [],
  )
  const base = segments.map((segment) => `/${toSegment(segment)}`).join('')
  let id = 'id'
  while (parameters.includes(id)) id = `_${id}`
  return {
    all: { path: base === '' ? '/' : base, parameters },
    one: { path: `${base}/{${id}}`, parameters: [...parameters, id] },
    id,
  }
}

/** Returns the URL of a custom method that has a path of its own. */
export function toMethodUrl({ path, parameters }: ServiceUrl, method: string): ServiceUrl {
  return { path: `${path === '/' ? '' : path}/${method}`, parameters }
}

/** Returns a path without the names of its parameters: two with the same one are the same path. */
export function toShape(path: string): string {
  return path.replace(/\{[^}]*\}/g, '{}')
}

function toSegment(segment: string): string {
  return segment.startsWith(':') ? `{${segment.slice(1)}}` : encodeURI(segment)
}
