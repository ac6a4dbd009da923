/**
 * Cases that the embedded server does not answer as MongoDB does, by their pages and titles. A test
 * fails when one of them is right: then it leaves this list.
 */
export const OPEN: ReadonlySet<string> = new Set([
  '#projection: an unknown expression',
  '#projection: two operators',
  'addToSet: $each of a value',
  'cond: $cond with another name',
  'cond: $cond without if',
  'ifNull: $ifNull of one',
  'switch: $switch with another name',
  'map: $let without in',
  'year: $hour with an unknown name',
  'year: $hour without a date',
  'dateToString: an unknown name',
  'dateToString: no date',
  '#expressions: an operator beside a field',
  '#expressions: an empty name in a path',
  '#expressions: a dot at the end',
  '#expressions: a dollar alone',
  'project: a positional path',
  'project: an unknown expression',
  'addFields: two operators',
  'addFields: $unset of nothing',
  'lookup: a number as a field',
  'lookup: a stage that writes',
])
