import { parse } from 'picoquery'

const OPTIONS = {
  nesting: true,
  nestingSyntax: 'index',
  arrayRepeat: true,
  arrayRepeatSyntax: 'bracket',
} as const

/**
 * Returns a query in brackets as an object, by the fastest parser that reads them. It decodes names
 * after it has split them, so brackets are decoded before.
 */
export function parseBrackets(text: string): Record<string, unknown> {
  return parse(text.replaceAll('%5B', '[').replaceAll('%5D', ']'), OPTIONS)
}
