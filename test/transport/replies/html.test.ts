import t from 'tap'
import { escapeHtml } from '../../../src/transport/replies/html.ts'

t.test('what ends a text or an attribute is escaped, and nothing else', async (t) => {
  t.equal(
    escapeHtml(`<a href="x" title='y'>&`),
    '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;',
  )
  t.equal(escapeHtml('Länder der Welt'), 'Länder der Welt')
})
