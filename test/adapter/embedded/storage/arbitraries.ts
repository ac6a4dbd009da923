import { Binary, Decimal128, Double, Long, MaxKey, MinKey, ObjectId } from 'bson'
import fc from 'fast-check'

/** Few of each kind, so that they meet; several are equal in MongoDB although they differ. */
const VALUES: readonly unknown[] = [
  ...[0, -0, 1, 1.5, Number.NaN, 2 ** 53, 2 ** 60, Infinity, new Double(1)],
  ...[
    Long.fromNumber(1),
    Long.fromString('9007199254740993'),
    Long.fromString('1152921504606846976'),
  ],
  ...['0', '-0', '1.0', '1.50', 'NaN', 'Infinity', '1E+2', '1152921504606846976'].map(
    (text) => new Decimal128(text),
  ),
  ...['', 'a', 'A', 'ä', 'a\u0308', '1', 'null'],
  ...[null, undefined, true, false, new Date(0), new Date(1), new MinKey(), new MaxKey()],
  ...[new ObjectId('0'.repeat(24)), new ObjectId('1'.repeat(24)), /a/, /a/i],
  ...[new Binary(Buffer.from('a')), new Binary(Buffer.from('a'), 4)],
  ...[
    {},
    { b: 1 },
    { b: Long.fromNumber(1) },
    { b: null },
    { b: undefined },
    { b: 1, c: 1 },
    { c: 1, b: 1 },
  ],
]
/** A value that is no list. */
export const scalar: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(0, 1, 'a', 'A') },
  { weight: 2, arbitrary: fc.constantFrom(...VALUES) },
)
/** A value, which may be a list, of lists and of documents too. */
export const value: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  {
    weight: 1,
    arbitrary: fc.array(fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), { maxLength: 2 }),
  },
  { weight: 1, arbitrary: fc.array(fc.record({ b: scalar }), { maxLength: 2 }) },
)
