// Tables that can be read on a phone, and rows that can be linked to.

/** How many columns a table may have to be stacked on narrow screens; wider ones scroll. */
const MAX_STACKED = 3

/**
 * Names the column of each cell, for screens on which cells are stacked, and gives each row of a table of tasks an
 * anchor: `seed data` becomes `#seed-data`. A row without one has a section of the same name on the page.
 */
export function improveTables(md, toAnchor) {
  // That of VitePress drops the class.
  md.renderer.rules.table_open = (tokens, position, options, _env, renderer) => {
    tokens[position].attrSet('tabindex', '0')
    return renderer.renderToken(tokens, position, options)
  }
  md.core.ruler.push('improve-tables', ({ tokens }) => {
    const headings = new Set(
      tokens.flatMap((token) => (token.type === 'heading_open' ? token.attrGet('id') : [])),
    )
    let table
    let columns = []
    let column = 0
    let row
    for (const [position, token] of tokens.entries()) {
      const text = tokens[position + 1]?.content
      if (token.type === 'table_open') [table, columns] = [token, []]
      else if (token.type === 'th_open') columns.push(text)
      else if (token.type === 'thead_close' && columns.length <= MAX_STACKED)
        table.attrJoin('class', 'stacked')
      else if (token.type === 'tr_open') [row, column] = [token, 0]
      else if (token.type === 'td_open') {
        const anchor = column === 0 && columns[0] === 'task' ? toAnchor(text) : undefined
        if (anchor !== undefined && !headings.has(anchor)) row.attrSet('id', anchor)
        if (column > 0 && columns.length > 2) token.attrSet('data-label', toPlain(columns[column]))
        column += 1
      }
    }
  })
}

function toPlain(markdown) {
  return markdown.replaceAll(/[`*]|\]\(.*?\)|\[/g, '')
}
