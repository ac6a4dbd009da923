import type { Document } from 'mongodb'
import { Decimal128, Long, ObjectId } from 'mongodb'
import type { Ask, Case } from './case.ts'
import { casesOf, fails, MANUAL, over, SERVER } from './case.ts'

const UPDATE = `${MANUAL}/reference/operator/update`
const DATE = new Date('2024-02-29T12:00:00Z')
const ID = new ObjectId('65e0f0000000000000000001')

/** Asks for the documents after an update of the first, without their `_id`. */
export const updated: Ask<Document | Document[]> = async (collection, update) => {
  await collection.updateOne({}, update)
  return collection.find({}, { projection: { _id: 0 } }).toArray()
}

/** What an update changes, one field after the other. */
export const UPDATE_CASES: readonly Case[] = [
  ...casesOf(`${UPDATE}/set/`, updated, {
    'a field': [[{ a: 1 }], { $set: { a: 2 } }, [{ a: 2 }]],
    'a new field': [[{ a: 1 }], { $set: { b: 2 } }, [{ a: 1, b: 2 }]],
    'new fields in the order of their names': [[{}], { $set: { b: 1, a: 2 } }, [{ a: 2, b: 1 }]],
    'numbers before names': [[{}], { $set: { b: 1, 10: 2, 9: 3 } }, [{ 9: 3, 10: 2, b: 1 }]],
    'a path': [[{ a: { b: 1 } }], { $set: { 'a.b': 2 } }, [{ a: { b: 2 } }]],
    'a path that is not there': [[{}], { $set: { 'a.b.c': 1 } }, [{ a: { b: { c: 1 } } }]],
    'a whole document': [[{ a: { b: 1, c: 2 } }], { $set: { a: { b: 3 } } }, [{ a: { b: 3 } }]],
    'an item': [[{ a: [1, 2] }], { $set: { 'a.1': 9 } }, [{ a: [1, 9] }]],
    'behind the end': [[{ a: [1] }], { $set: { 'a.3': 4 } }, [{ a: [1, null, null, 4] }]],
    'a field of an item': [[{ a: [{ b: 1 }] }], { $set: { 'a.0.b': 2 } }, [{ a: [{ b: 2 }] }]],
    'an item that is not there': [[{ a: [] }], { $set: { 'a.0.b': 2 } }, [{ a: [{ b: 2 }] }]],
    'a number as a name': [[{}], { $set: { 'a.0': 1 } }, [{ a: { 0: 1 } }]],
    null: [[{ a: 1 }], { $set: { a: null } }, [{ a: null }]],
    'a date': [[{}], { $set: { a: DATE } }, [{ a: DATE }]],
    'an ObjectId': [[{}], { $set: { a: ID } }, [{ a: ID }]],
    'an empty document': [[{ a: 1 }], { $set: {} }, [{ a: 1 }]],
    'the same _id': [[{ a: 1 }], { $set: { _id: 0, a: 2 } }, [{ a: 2 }]],
    'another _id': [[{ a: 1 }], { $set: { _id: 5 } }, fails(66)],
    'a path through a number': [[{ a: 1 }], { $set: { 'a.b': 1 } }, fails(28)],
    'a path through null': [[{ a: null }], { $set: { 'a.b': 1 } }, fails(28)],
    'a name in an array': [[{ a: [1] }], { $set: { 'a.b': 1 } }, fails(28)],
    'no document': [[{ a: 1 }], { $set: 5 }, fails(9)],
    'an empty name': [[{ a: 1 }], { $set: { 'a.': 1 } }, fails(56)],
    'an empty path': [[{ a: 1 }], { $set: { '': 1 } }, fails(56)],
    'an operator inside a value': [[{}], { $set: { a: { $b: 1 } } }, [{ a: { $b: 1 } }]],
  }),
  ...casesOf(`${UPDATE}/unset/`, updated, {
    'a field': [[{ a: 1, b: 2 }], { $unset: { a: '' } }, [{ b: 2 }]],
    'whatever its value': [[{ a: 1, b: 2 }], { $unset: { a: false } }, [{ b: 2 }]],
    'a field that is not there': [[{ b: 2 }], { $unset: { a: '' } }, [{ b: 2 }]],
    'a path': [[{ a: { b: 1, c: 2 } }], { $unset: { 'a.b': '' } }, [{ a: { c: 2 } }]],
    'an item becomes null': [[{ a: [1, 2] }], { $unset: { 'a.0': '' } }, [{ a: [null, 2] }]],
    'a path through a number': [[{ a: 1 }], { $unset: { 'a.b': '' } }, [{ a: 1 }]],
    'the _id': [[{ a: 1 }], { $unset: { _id: '' } }, fails(66)],
  }),
  ...casesOf(`${UPDATE}/inc/`, updated, {
    adds: [[{ n: 5 }], { $inc: { n: 2 } }, [{ n: 7 }]],
    subtracts: [[{ n: 5 }], { $inc: { n: -7 } }, [{ n: -2 }]],
    'a fraction': [[{ n: 5 }], { $inc: { n: 0.5 } }, [{ n: 5.5 }]],
    'a missing field': [[{}], { $inc: { n: 2 } }, [{ n: 2 }]],
    'a path': [[{ a: { n: 1 } }], { $inc: { 'a.n': 1, 'a.m': 1 } }, [{ a: { n: 2, m: 1 } }]],
    'beyond 32 bits': [[{ n: 2 ** 31 - 1 }], { $inc: { n: 1 } }, [{ n: 2 ** 31 }]],
    'a long': [
      [{ n: Long.fromString('9007199254740993') }],
      { $inc: { n: 2 } },
      [{ n: Long.fromString('9007199254740995') }],
    ],
    'beyond a long': [[{ n: Long.MAX_VALUE }], { $inc: { n: 1 } }, fails(2)],
    'a string': [[{ n: '5' }], { $inc: { n: 1 } }, fails(14)],
    null: [[{ n: null }], { $inc: { n: 1 } }, fails(14)],
    'by a string': [[{ n: 5 }], { $inc: { n: '1' } }, fails(14)],
    'by null': [[{ n: 5 }], { $inc: { n: null } }, fails(14)],
    'a decimal': [
      [{ n: new Decimal128('0.1') }],
      { $inc: { n: 1 } },
      [{ n: new Decimal128('1.1') }],
      2,
    ],
  }),
  ...casesOf(`${UPDATE}/mul/`, updated, {
    multiplies: [[{ n: 5 }], { $mul: { n: 2 } }, [{ n: 10 }]],
    'a fraction': [[{ n: 10 }], { $mul: { n: 0.25 } }, [{ n: 2.5 }]],
    'a missing field is zero': [[{}], { $mul: { n: 2 } }, [{ n: 0 }]],
    'a string': [[{ n: '5' }], { $mul: { n: 1 } }, fails(14)],
    'by a document': [[{ n: 5 }], { $mul: { n: {} } }, fails(14)],
  }),
  ...casesOf(`${UPDATE}/min/`, updated, {
    'a smaller one': [[{ n: 5 }], { $min: { n: 3 } }, [{ n: 3 }]],
    'a larger one': [[{ n: 5 }], { $min: { n: 9 } }, [{ n: 5 }]],
    'a missing field': [[{}], { $min: { n: 9 } }, [{ n: 9 }]],
    'null is below numbers': [[{ n: 5 }], { $min: { n: null } }, [{ n: null }]],
    'null stays': [[{ n: null }], { $min: { n: 1 } }, [{ n: null }]],
    'a string is above numbers': [[{ n: 5 }], { $min: { n: '1' } }, [{ n: 5 }]],
    'a date': [[{ d: DATE }], { $min: { d: new Date(0) } }, [{ d: new Date(0) }]],
  }),
  ...casesOf(`${UPDATE}/max/`, updated, {
    'a larger one': [[{ n: 5 }], { $max: { n: 9 } }, [{ n: 9 }]],
    'a smaller one': [[{ n: 5 }], { $max: { n: 3 } }, [{ n: 5 }]],
    'a missing field': [[{}], { $max: { n: 3 } }, [{ n: 3 }]],
    'a number is above null': [[{ n: null }], { $max: { n: -1 } }, [{ n: -1 }]],
    'a date is above a string': [[{ n: 'x' }], { $max: { n: DATE } }, [{ n: DATE }]],
  }),
  ...casesOf(`${UPDATE}/rename/`, updated, {
    'a field': [[{ a: 1, b: 2 }], { $rename: { a: 'c' } }, [{ b: 2, c: 1 }]],
    'a field that is not there': [[{ b: 2 }], { $rename: { a: 'c' } }, [{ b: 2 }]],
    'in place of another': [[{ a: 1, b: 2, c: 3 }], { $rename: { a: 'c' } }, [{ b: 2, c: 1 }]],
    'into a document': [[{ a: 1, b: {} }], { $rename: { a: 'b.c' } }, [{ b: { c: 1 } }]],
    'out of a document': [[{ b: { c: 1 } }], { $rename: { 'b.c': 'a' } }, [{ b: {}, a: 1 }]],
    'to itself': [[{ a: 1 }], { $rename: { a: 'a' } }, fails(2)],
    'into itself': [[{ a: 1 }], { $rename: { a: 'a.b' } }, fails(2)],
    'to a number of no document': [[], { $rename: { a: 1 } }, fails(2)],
    'through a number': [[{ a: 1 }], { $rename: { 'a.b': 'c' } }, fails(28)],
    'in the order of the new names': [
      [{ z: 1 }],
      { $set: { b: 1 }, $rename: { z: 'a' } },
      [{ a: 1, b: 1 }],
    ],
    'to a number': [[{ a: 1 }], { $rename: { a: 1 } }, fails(2)],
    'an item': [[{ a: [1] }], { $rename: { 'a.0': 'b' } }, fails(2)],
    'into an array': [[{ a: [1], b: 2 }], { $rename: { b: 'a.1' } }, fails(2)],
    'from a placeholder': [[{ a: [1] }], { $rename: { 'a.$[]': 'b' } }, fails(2)],
    'to a placeholder': [[{ a: [1] }], { $rename: { a: 'b.$[]' } }, fails(2)],
    'to what another changes': [[{ a: 1 }], { $rename: { a: 'b' }, $set: { b: 1 } }, fails(40)],
  }),
  ...casesOf(`${UPDATE}/setOnInsert/`, updated, {
    'does nothing to a document': [[{ a: 1 }], { $setOnInsert: { b: 1 } }, [{ a: 1 }]],
    'beside $set': [[{ a: 1 }], { $set: { a: 2 }, $setOnInsert: { b: 1 } }, [{ a: 2 }]],
  }),
  ...casesOf(`${UPDATE}/currentDate/`, updated, {
    'a number': [[{}], { $currentDate: { d: 1 } }, fails(2)],
    'an unknown type': [[{}], { $currentDate: { d: { $type: 'time' } } }, fails(2)],
    'an unknown field': [[{}], { $currentDate: { d: { type: 'date' } } }, fails(2)],
  }),
  ...casesOf(`${UPDATE}/`, updated, {
    'several operators': [
      [{ a: 1, b: 1 }],
      { $set: { c: 1 }, $inc: { a: 1 }, $unset: { b: '' } },
      [{ a: 2, c: 1 }],
    ],
    'one path twice': [[{ a: 1 }], { $set: { a: 1 }, $inc: { a: 1 } }, fails(40)],
    'a path and its parent': [[{}], { $set: { a: {}, 'a.b': 1 } }, fails(40)],
    'names that begin alike': [[{}], { $set: { a: 1, ab: 2 } }, [{ a: 1, ab: 2 }]],
    'a path and one between': [[{}], { $set: { a: 1, 'a-b': 2, 'a.b': 3 } }, fails(40)],
    'an unknown operator': [[{}], { $increase: { a: 1 } }, fails(9)],
    $bit: [[{ a: 13 }], { $bit: { a: { and: 10 } } }, [{ a: 8 }], 9],
    'a name with a dollar': [[{}], { $set: { $a: 1 } }, fails(52)],
    'a name with a dollar in a path': [[{}], { $set: { 'a.$b': 1 } }, fails(52)],
  }),
  ...casesOf(`${MANUAL}/tutorial/update-documents-with-aggregation-pipeline/`, updated, {
    'reads other fields': [
      [{ a: 2, b: 3 }],
      [{ $set: { c: { $add: ['$a', '$b'] } } }],
      [{ a: 2, b: 3, c: 5 }],
    ],
    'stage after stage': [
      [{ a: 2 }],
      [{ $set: { a: 3 } }, { $set: { b: '$a' } }],
      [{ a: 3, b: 3 }],
    ],
    $unset: [[{ a: 2, b: 3 }], [{ $unset: 'a' }], [{ b: 3 }]],
    '$unset of two': [[{ a: 2, b: 3, c: 4 }], [{ $unset: ['a', 'c'] }], [{ b: 3 }]],
    $project: [[{ a: 2, b: 3 }], [{ $project: { b: 1 } }], [{ b: 3 }]],
    $replaceWith: [[{ a: { b: 3 } }], [{ $replaceWith: '$a' }], [{ b: 3 }]],
    $replaceRoot: [[{ a: { b: 3 } }], [{ $replaceRoot: { newRoot: '$a' } }], [{ b: 3 }]],
    $addFields: [[{ a: 1 }], [{ $addFields: { 'b.c': '$a' } }], [{ a: 1, b: { c: 1 } }]],
    '$set merges documents': [
      [{ a: { b: 1 } }],
      [{ $set: { a: { c: 2 } } }],
      [{ a: { b: 1, c: 2 } }],
    ],
    $cond: [
      [{ n: 5 }],
      [{ $set: { big: { $cond: [{ $gt: ['$n', 3] }, 'y', 'n'] } } }],
      [{ n: 5, big: 'y' }],
    ],
    $literal: [[{}], [{ $set: { a: { $literal: '$b' } } }], [{ a: '$b' }]],
    $match: [[{ a: 1 }], [{ $match: {} }], fails(72)],
    'another _id': [[{ a: 1 }], [{ $set: { _id: 9 } }], fails(66)],
  }),
  ...casesOf(
    `${SERVER}/master/src/mongo/db/update/path_support.cpp`,
    updated,
    over([{ a: [], o: {} }], {
      'an index too far': [{ $set: { 'a.1600000': 1 } }, fails(2)],
      'an index with a zero': [{ $set: { 'a.01': 1 } }, fails(28)],
      'a number in a document': [{ $set: { 'o.1': 1 } }, [{ a: [], o: { 1: 1 } }]],
    }),
  ),
]
