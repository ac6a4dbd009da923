import { readFileSync } from 'node:fs'
import t from 'tap'
import { EXPRESSION_OPERATORS } from '../../../src/adapter/embedded/aggregation/expressions.ts'
import { ACCUMULATORS } from '../../../src/adapter/embedded/aggregation/group-stage.ts'
import { STAGES } from '../../../src/adapter/embedded/aggregation/pipeline.ts'
import { FIELD_OPERATORS, LOGICAL_OPERATORS } from '../../../src/adapter/embedded/queries/filter.ts'
import { UPDATE_OPERATORS } from '../../../src/adapter/embedded/updates/update-operators.ts'

const page = readFileSync(new URL('../../../../docs/embedded.md', import.meta.url), 'utf8')
const [, there = ''] = page.split('\n## What is there\n')

/** What the page says of each kind, and the tables of it. */
const KINDS: Readonly<Record<string, readonly ReadonlyMap<string, unknown>[]>> = {
  Filters: [FIELD_OPERATORS, LOGICAL_OPERATORS],
  // It moves a field, and is the only one that changes two.
  Updates: [UPDATE_OPERATORS, new Map([['$rename', undefined]])],
  Stages: [STAGES],
  Accumulators: [ACCUMULATORS],
  Expressions: [EXPRESSION_OPERATORS],
}

for (const [kind, tables] of Object.entries(KINDS)) {
  t.test(`docs/embedded.md lists what is there, and nothing else: ${kind}`, (t) => {
    const [, after = ''] = there.split(`\n- ${kind}:`)
    const [text = ''] = after.split('\n- ')
    // Neither `$[]` of an update nor `$$NOW` is an operator, and `$text` has a line of its own.
    const listed = [...text.matchAll(/(?<!\$)\$[a-z]\w*/gi)].map(([name]) => name)
    const names = tables.flatMap((table) => [...table.keys()]).filter((name) => name !== '$text')
    t.strictSame([...new Set(listed)].toSorted(), [...new Set(names)].toSorted())
    t.end()
  })
}
