import type { Document } from 'mongodb'
import { Decimal128 } from 'mongodb'
import t from 'tap'
import { EXPRESSION_OPERATORS } from '../../../../src/adapter/embedded/aggregation/expressions.ts'
import { openDatabase } from '../open-database.ts'
import { branch, DOCUMENT, EXPRESSION_CASES, RANDOM } from './expression-cases.ts'

t.test('an expression has the value that MongoDB’s manual says:', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('expressions')
  await collection.insertOne({ ...DOCUMENT })
  for (const [operator, operand, value] of EXPRESSION_CASES) {
    await t.test(`${operator} of ${JSON.stringify(operand)}`, async (t) => {
      const stage = { $project: { _id: 0, value: { [operator]: operand } } }
      const [found] = await collection.aggregate([stage]).toArray()
      const computed: unknown = found?.['value']
      if (value === RANDOM) t.ok(Number(computed) >= 0 && Number(computed) < 1)
      else t.strictSame(computed, value)
    })
  }
})

t.test('no operator is allowed that has no such case', (t) => {
  const tested = new Set(EXPRESSION_CASES.map(([operator]) => operator))
  t.strictSame(
    [...EXPRESSION_OPERATORS.keys()].filter((name) => !tested.has(name)),
    [],
  )
  t.end()
})

t.test('field paths and variables', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('paths')
  await collection.insertOne({
    a: [{ b: 1 }, { b: [2] }, 5, [{ b: 9 }], {}],
    list: ['x', 'y'],
    doc: { 0: 'zero' },
  })
  const cases: readonly (readonly [title: string, expression: unknown, value: unknown])[] = [
    ['a path goes through arrays of documents, and not through arrays in them', '$a.b', [1, [2]]],
    ['an index is no part of a path', '$list.0', []],
    ['a field may be named like an index', '$doc.0', 'zero'],
    ['a field has to be the document’s own', '$constructor', undefined],
    ['a path through a scalar has no value', '$list.length', []],
    ['$$ROOT and $$CURRENT are the document', { $eq: ['$$ROOT.doc', '$$CURRENT.doc'] }, true],
    ['$$REMOVE is no value', '$$REMOVE', undefined],
    ['$$NOW is one moment', { $eq: ['$$NOW', '$$NOW'] }, true],
    ['a missing value is null in an array', ['$gone', 1], [null, 1]],
    ['and leaves no field in a document', { x: '$gone', y: 1 }, { y: 1 }],
    ['an inner variable hides an outer one', nest(), [[1, 1]]],
  ]
  for (const [title, expression, value] of cases) {
    await t.test(title, async (t) => {
      // The operator around it keeps `$project` from reading the value as a sub-projection.
      const stage = { $project: { _id: 0, value: { $ifNull: [expression, '$gone'] } } }
      const [found] = await collection.aggregate([stage]).toArray()
      t.strictSame(found?.['value'], value)
    })
  }
})

function nest(): Document {
  const inner = { $map: { input: [5, 6], in: { $let: { vars: { this: 1 }, in: '$$this' } } } }
  return { $map: { input: [0], in: inner } }
}

/** Operators of MongoDB that this server had once. */
const REMOVED = [
  '$exp $ln $log $log10 $bitAnd $bitOr $bitXor $bitNot $rand $sin $cos $tan $asin $acos',
  '$atan $atan2 $sinh $cosh $tanh $asinh $acosh $atanh $degreesToRadians',
  '$radiansToDegrees $indexOfArray $sortArray $zip $setEquals $allElementsTrue',
  '$anyElementTrue $week $isoDayOfWeek $isoWeek $isoWeekYear $dateToParts',
  '$dateFromParts $dateDiff $dateTrunc $getField $setField $unsetField $regexMatch',
  '$regexFind $regexFindAll $indexOfBytes $indexOfCP $strLenBytes $strcasecmp $substr',
  '$substrBytes $convert $dateFromString $bsonSize $binarySize',
  '$setUnion $setIntersection $setDifference $setIsSubset',
  '$arrayToObject $objectToArray $ltrim $rtrim $trim $replaceOne $replaceAll $pow $sqrt',
].flatMap((names) => names.split(' '))

const NOT_SUPPORTED = 'it is not supported by the embedded server'

const REFUSALS: readonly (readonly [title: string, expression: unknown, code: number])[] = [
  ...[
    '$nope',
    '$function',
    '$accumulator',
    '$meta',
    '$toDecimal',
    '$dateAdd',
    '$dateSubtract',
    '$top',
    '$bottom',
    '$topN',
    '$firstN',
    '$maxN',
    '$percentile',
    '$median',
    '$stdDevPop',
    '$stdDevSamp',
    '$sigmoid',
    '$sampleRate',
    '$tsSecond',
    '$addToSet',
    '$push',
    '$documentNumber',
    '$constructor',
    ...REMOVED,
  ].map((name) => [name, { [name]: '$n' }, 168] as const),
  ['two operators in one', { $add: [1], $abs: 1 }, 15983],
  ['too many arguments', { $abs: [1, 2] }, 16020],
  ['too few arguments', { $subtract: [1] }, 16020],
  ['an unknown argument', { $filter: { input: [], cond: 1, until: 2 } }, 9],
  ['a missing argument', { $map: { input: [] } }, 9],
  ['an undefined variable', '$$nope', 17276],
  ['a variable outside of its operator', '$$this', 17276],
  ['a variable with an upper-case name', { $let: { vars: { A: 1 }, in: 1 } }, 16867],
  ['$$KEEP, $$PRUNE and $$DESCEND', '$$KEEP', 17276],
  ['an empty name in a path', '$a..b', 16410],
  ['a dot in the name of a field', { $mergeObjects: { 'a.b': 1 } }, 16412],
  ['$add of a string', { $add: ['$s', 1] }, 14],
  ['$add of two dates', { $add: ['$d', '$d'] }, 16612],
  ['$abs of a string', { $abs: '$s' }, 28765],
  ['$divide by zero', { $divide: [1, 0] }, 2],
  ['$mod by zero', { $mod: [1, 0] }, 16610],
  ['arithmetic with decimals', { $multiply: ['$decimal', 2] }, 2],
  ['$size of null', { $size: '$nil' }, 17124],
  ['$slice of no items', { $slice: ['$list', 0, 0] }, 28729],
  ['$range with a step of zero', { $range: [0, 1, 0] }, 34449],
  ['$range to infinity', { $range: [0, Number.POSITIVE_INFINITY] }, 34446],
  ['$range to null', { $range: [0, '$nil'] }, 34445],
  ['$range with a missing step', { $range: [0, 2, '$gone'] }, 34447],
  ['$arrayElemAt at a string', { $arrayElemAt: ['$list', '$s'] }, 28690],
  ['$arrayElemAt at a fraction', { $arrayElemAt: ['$list', 0.5] }, 28691],
  ['$arrayElemAt beyond 32 bits', { $arrayElemAt: ['$list', 2 ** 31] }, 28691],
  ['$slice beyond 32 bits', { $slice: ['$list', 2 ** 31] }, 28726],
  ['$add of a string in front of null', { $add: ['$s', '$nil'] }, 14],
  ['$multiply of a string in front of null', { $multiply: ['$s', '$nil'] }, 14],
  ['$concat of a number in front of null', { $concat: ['$n', '$nil'] }, 16702],
  ['$concatArrays of a number in front of null', { $concatArrays: ['$n', '$nil'] }, 28664],
  ['a part of a millisecond', { $add: ['$d', 0.5] }, 2],
  ['$in without an array', { $in: [1, 2] }, 40081],
  ['$mergeObjects of a number', { $mergeObjects: ['$n'] }, 40400],
  ['$concat of a number', { $concat: ['$s', '$n'] }, 16702],
  ['$split by nothing', { $split: ['$s', ''] }, 40087],
  ['$strLenCP of null', { $strLenCP: '$nil' }, 34471],
  ['$substrCP of a negative length', { $substrCP: ['$s', 0, -1] }, 34454],
  ['$substrCP from a negative position', { $substrCP: ['$s', -1, 1] }, 34455],
  ['$substrCP of half a length', { $substrCP: ['$s', 0, 0.5] }, 34453],
  ['$toLower of a bool', { $toLower: '$yes' }, 16007],
  ['$toUpper of an ObjectId', { $toUpper: '$id' }, 16007],
  ['$toLower of a number of 17 digits', { $toLower: 0.1 + 0.2 }, 2],
  ['$toUpper of an array', { $toUpper: ['$list'] }, 16007],
  ['a date part of a string', { $year: '$s' }, 16006],
  ['the name of a time zone', { $year: { date: '$d', timezone: 'Europe/Berlin' } }, 40485],
  ['a limit of $filter', { $filter: { input: [], cond: 1, limit: 2 } }, 9],
  ['$toObjectId of a number', { $toObjectId: '$n' }, 241],
  ['an unknown letter of a format', { $dateToString: { date: '$d', format: '%q' } }, 18536],
  ['a week in a format', { $dateToString: { date: '$d', format: '%V' } }, 18536],
  ['$round to a fraction of a place', { $round: [1, 0.5] }, 51082],
  ['$round of a string', { $round: '$s' }, 51081],
  ['$round to a place too far', { $round: [1, 101] }, 51083],
  ['$switch without a branch that fits', { $switch: { branches: [branch('$no', 1)] } }, 40066],
  ['a date in words', { $toDate: 'July 4 2024' }, 2],
  ['$toDate of an int', { $toDate: '$n' }, 241],
  ['$toInt of 1.5 as a string', { $toInt: '1.5' }, 241],
  ['$toInt of an empty string', { $toInt: '' }, 241],
  ['$toInt of hexadecimal digits', { $toInt: '0x10' }, 241],
  ['$toInt beyond 32 bits', { $toInt: 3e9 }, 241],
  ['$toInt of a fraction beyond 32 bits', { $toInt: 2147483647.5 }, 241],
  ['$toInt below 32 bits', { $toInt: -2147483649 }, 241],
  ['$toDouble of a string too large', { $toDouble: '1e400' }, 241],
  ['$toDouble of a string too small', { $toDouble: '1e-400' }, 241],
  ['$toDouble of a decimal too large', { $toDouble: new Decimal128('1e400') }, 241],
  ['$toDate beyond the dates of JavaScript', { $toDate: 1e17 }, 241],
  ['$toString of a year of five digits', { $toString: new Date(253402300800000) }, 18537],
  ['a year before 0 in a format', { $dateToString: { date: new Date(-1e15) } }, 18537],
  ['a map of a name that is null', { $map: { input: '$list', as: null, in: 1 } }, 16867],
  ['a null byte in a path', '$a\0b', 16410],
  ['$toString of a document', { $toString: '$doc' }, 241],
  ['$toString of an exponent', { $toString: 1e-9 }, 2],
  ['$toString of what MongoDB writes with an exponent', { $toString: 0.00001 }, 2],
  ['$toString of 17 digits', { $toString: 1e16 }, 2],
  ['a huge $range', { $range: [0, 30_000_000] }, 2],
]

t.test('an expression is refused with MongoDB’s code for', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('refusals')
  await collection.insertOne({ ...DOCUMENT })
  for (const [title, expression, code] of REFUSALS) {
    await t.test(title, async (t) => {
      const stage = { $project: { value: { $ifNull: [expression, null] } } }
      const refusal =
        code === 168
          ? { code, message: `Unrecognized expression '${title}': ${NOT_SUPPORTED}` }
          : { code }
      await t.rejects(collection.aggregate([stage]).toArray(), refusal)
      await t.rejects(collection.find({ $expr: expression as Document }).toArray(), refusal)
    })
  }
})

t.test('an integer is never -0', async (t) => {
  const collection = (await openDatabase(t)).collection('zeros')
  await collection.insertOne({ zero: 0 })
  for (const value of [{ $multiply: ['$zero', -1] }, { $mod: [-6, 3] }, { $sum: ['$zero', -0] }]) {
    const [found] = await collection.aggregate([{ $project: { value } }]).toArray()
    t.ok(Object.is(found?.['value'], 0), JSON.stringify(value))
  }
})

t.test('what an expression would multiply without end is stopped', async (t) => {
  const database = await openDatabase(t)
  const collection = database.collection('loops')
  await collection.insertOne({})
  const many = { $range: [0, 1_000_000] }
  const loops: readonly Document[] = [
    { $map: { input: many, in: many } },
    {
      $reduce: {
        input: { $range: [0, 100] },
        initialValue: [1],
        in: { $concatArrays: ['$$value', '$$value'] },
      },
    },
    {
      $reduce: {
        input: { $range: [0, 100] },
        initialValue: 'x',
        in: { $concat: ['$$value', '$$value'] },
      },
    },
  ]
  for (const loop of loops) {
    await t.rejects(collection.aggregate([{ $project: { a: loop } }]).toArray(), {
      code: /^(146|10334)$/,
    })
  }
})
