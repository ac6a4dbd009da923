/**
 * Returns how much a client wants a media type, from 0 (not at all) to 1, by the most specific
 * range of its `Accept` header that matches. No header accepts everything.
 * @see RFC 9110 §12.5.1
 */
export function toQuality(accept: string | undefined, mediaType: string): number {
  if (accept === undefined || accept.trim() === '') return 1
  const [type] = mediaType.split('/')
  const ranges = [mediaType, `${type}/*`, '*/*']
  const offered = new Map(accept.split(',').map(toRange))
  for (const range of ranges) {
    const quality = offered.get(range)
    if (quality !== undefined) return quality
  }
  return 0
}

/** Returns whether JSON may be sent. */
export function acceptsJson(accept: string | undefined): boolean {
  return isUsual(accept) || toQuality(accept, 'application/json') > 0
}

/** Returns whether a client prefers HTML to JSON: browsers do, programs do not. */
export function prefersHtml(accept: string | undefined): boolean {
  if (isUsual(accept) || !/html|text\/\*/i.test(accept)) return false
  return toQuality(accept, 'text/html') > toQuality(accept, 'application/json')
}

/** Returns whether JSON is preferred, decided without parsing for the headers that most programs send. */
function isUsual(accept: string | undefined): accept is '*/*' | 'application/json' | undefined {
  return accept === undefined || accept === '*/*' || accept === 'application/json'
}

function toRange(text: string): [range: string, quality: number] {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = weight === undefined ? 1 : Number(weight.slice(2))
  return [range, quality >= 0 && quality <= 1 ? quality : 0]
}
