import { STATUS_CODES } from 'node:http'
import type { FastifyReply } from 'fastify'
import { escapeHtml } from '../replies/html.ts'

/** Sent with every page, so that nothing in it can run or load. */
const PAGE_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

/** The content of a page. */
interface ErrorPage {
  /** The HTTP status. */
  readonly status: number
  /**
   * The message of the error, shown below 500, as the caller can act on it. Custom error classes may have any value
   * here.
   */
  readonly message: unknown
  /** The id of the request, shown from 500 on, so that the developer finds the error in the log. */
  readonly requestId: string
  /** Whether the page links to `/`. */
  readonly hasWayBack: boolean
}

const TITLES: ReadonlyMap<number, string> = new Map([
  [401, 'Not Authorized'],
  [404, 'Page Not Found'],
])

/** Returns the page for an error. For a server error it shows only the status and the id of the request. */
export function renderErrorPage({ status, message, requestId, hasWayBack }: ErrorPage): string {
  const text = String(message ?? '')
  const isOurs = status >= 500
  const title = isOurs
    ? 'Something went wrong'
    : (TITLES.get(status) ?? STATUS_CODES[status] ?? 'Something went wrong')
  const isRepeated = text.toLowerCase() === title.toLowerCase()
  const says = isOurs ? `Request id: ${requestId}` : isRepeated ? '' : text
  const detail = says === '' ? '' : `\n<p id="error-detail">${escapeHtml(says)}</p>`
  const wayBack = hasWayBack ? '\n<p><a href="/">Back to the start</a></p>' : ''
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${status} ${title}</title>
<style>${STYLE}</style>
</head>
<body class="center-text">
<h1 id="error-code">${status}</h1>
<p id="error-message">${title}</p>${detail}${wayBack}
</body>
</html>
`
}

// System colours follow light and dark mode.
const STYLE = `
:root { color-scheme: light dark; font: 1.125rem/1.6 system-ui, sans-serif }
body { max-width: 36rem; margin: 18vh auto 0; padding: 0 1.5rem; overflow-wrap: anywhere }
.center-text { text-align: center }
h1 { font-size: 4rem; line-height: 1; margin: 0 0 .5rem }
#error-message { font-size: 1.4rem; margin: 0 0 1.5rem }
#error-detail { border-top: 1px solid GrayText; padding-top: 1.5rem; margin: 0 0 1.5rem }
`

/** Sends a page. Nothing in it can run or load. */
export function sendPage(reply: FastifyReply, page: string): void {
  reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', PAGE_SECURITY_POLICY)
    .header('x-content-type-options', 'nosniff')
    .send(page)
}
