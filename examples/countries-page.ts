const LINKS = [
  ['/countries', 'the first ten of 250'],
  ['/countries/FRA', 'one country by its id'],
  [
    '/countries?region=Europe&$sort[area]=-1&$limit=3&$select[]=name',
    'the largest three of Europe',
  ],
  ['/countries?area[$gt]=5000000&$sort[name]=1&$select[]=area', 'larger than five million km²'],
  ['/countries?languages=French&$limit=0', 'how many speak French'],
  ['/countries?name[$where]=1', 'an operator that is not allowed'],
  ['/countries/XXX', 'a country that does not exist'],
] as const

/** Returns the page at `/`: what is served, with links to try. */
export function renderIndexPage(): string {
  const items = LINKS.map(
    ([href, text]) =>
      `<li><a href="${href.replaceAll('&', '&amp;')}">${href.replaceAll('&', '&amp;')}</a><br>${text}</li>`,
  )
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Countries</title>
<style>body { font: 1rem/1.6 system-ui, sans-serif; margin: 3rem auto; max-width: 46rem } code { background: #eee }</style>
<h1>Countries</h1>
<p>One service, <code>/countries</code>, with <code>find get create update patch remove</code>:</p>
<ul>
${items.join('\n')}
</ul>
</html>
`
}
