/** Sent with every page, so that nothing in it can run or load. */
export const PAGE_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

interface PageText {
  readonly heading: string
  readonly text: string
}

const PAGES: ReadonlyMap<number, PageText> = new Map([
  [401, { heading: '401', text: 'Not Authorized' }],
  [404, { heading: '404', text: 'Page Not Found' }],
])

const OTHER_PAGE: PageText = { heading: 'Oh no!', text: 'Something went wrong' }

/** Returns the page for an HTTP status. It says nothing of the error itself. */
export function renderErrorPage(status: number): string {
  const { heading, text } = PAGES.get(status) ?? OTHER_PAGE
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${heading}</title>
<style>
body { margin: 20vh auto; max-width: 30rem; font: 1.1rem system-ui, sans-serif; color: #223 }
.center-text { text-align: center }
h1 { font-size: 3.5rem; margin: 0 }
</style>
</head>
<body class="center-text">
<h1 id="error-code">${heading}</h1>
<p id="error-message">${text}</p>
</body>
</html>
`
}
