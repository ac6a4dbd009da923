import type { Document } from 'mongodb'
import { DOCUMENT } from '../aggregation/expression-cases.ts'
import type { Case, RowsOver } from './case.ts'
import { casesOf, MANUAL, over, value } from './case.ts'

/** Where the manual has stages, accumulators and expressions. */
export const AGGREGATION = `${MANUAL}/reference/operator/aggregation`

/** What was sold; the last one lacks a field. */
export const SALES = [
  { item: 'abc', price: 10, n: 2, at: new Date('2024-01-01T08:00:00Z'), tags: ['x', 'y'] },
  { item: 'jkl', price: 20, n: 1, at: new Date('2024-02-03T09:00:00Z'), tags: ['y'] },
  { item: 'xyz', price: 5, n: 5, at: new Date('2024-02-03T09:05:00Z'), tags: [] },
  { item: 'abc', price: 10, n: 10, at: new Date('2024-02-15T08:00:00Z') },
]

/** The time and the id of {@link VALUES}. */
export const { d: DATE, id: ID } = DOCUMENT

/** Numbers, and what may stand in the place of one. */
export const GAPS = [
  { k: 'a', n: 1 },
  { k: 'a', n: null },
  { k: 'a' },
  { k: 'a', n: 'x' },
  { k: 'b', n: 5 },
]

/** A value of each kind, which expressions are computed over. */
export const VALUES: Document = {
  ...DOCUMENT,
  half: 2.5,
  digits: '42',
  words: ['b', 'A'],
  old: new Date('1969-12-31T23:59:59.999Z'),
}

/** Returns a function that makes the cases of one operator of expressions, over one document. */
export function operatorCases(
  document: Document,
): (name: string, rows: RowsOver<unknown>) => Case[] {
  return (name, rows) => casesOf(`${AGGREGATION}/${name}/`, value, over([document], rows))
}
