import { BadRequest, Forbidden } from '../../../../../src/core/index.ts'
import type { Call, Fields, Outcome, Resolving } from './room.ts'

/** A call by the names of one package, and what comes of it. */
export interface Case {
  readonly call: (schema: Resolving) => Call
  readonly expected: Outcome
}

const ANN = { id: 1, first: 'Ann', last: 'Lee', password: 'HASH' }
const fullName = ({ first, last }: Fields): unknown => `${first} ${last}`
const asPromise = async ({ first, last }: Fields): Promise<unknown> => `${first} ${last}`
const drop = (): undefined => undefined
const PAGE = { total: 1, limit: 10, skip: 0, data: [ANN] }
const createAnn = (): unknown => ({ ...ANN })
const createPage = (): unknown => ({ ...PAGE, data: [createAnn()] })
const SHOWN = { id: 1, first: 'Ann', last: 'Lee' }

const NO = { name: 'BadRequest', message: 'No', code: 400, className: 'bad-request' }

/** What comes of errors of properties. */
function unresolved(data: object, fields = ''): Outcome {
  const message = `Error resolving data${fields}`
  return { error: { name: 'BadRequest', message, code: 400, data } }
}

const misused = (message: string): Outcome => ({ error: { name: 'TypeError', message } })

/** Throws an error in a property. */
function failing(error: unknown, name = 'first') {
  return ({ resolve, resolveData }: Resolving): Call => ({
    method: 'create',
    data: ANN,
    before: [
      resolveData(
        resolve<Fields, unknown>({
          [name]: () => {
            throw error
          },
        }),
      ),
    ],
  })
}

/** Hooks of one kind with one resolver. */
function around(
  hook: 'resolveResult' | 'resolveExternal',
  properties: (schema: Resolving) => object,
  call: Call,
) {
  return (schema: Resolving): Call => ({
    ...call,
    around: [schema[hook](schema.resolve<Fields, unknown>(properties(schema) as never))],
  })
}

const named = ({ virtual }: Resolving): object => ({
  fullName: virtual<Fields, unknown, unknown>(fullName),
})

export const CASES: Readonly<Record<string, Case>> = {
  'data is resolved by functions that are synchronous or not': {
    call: ({ resolve, resolveData, virtual }) => ({
      method: 'create',
      data: ANN,
      before: [
        resolveData(
          resolve<Fields, unknown>({
            password: async (value) => `hash of ${value}`,
            first: (value) => String(value).toUpperCase(),
            last: drop,
            fullName: virtual(asPromise),
          }),
        ),
      ],
    }),
    expected: {
      result: { id: 1, first: 'ANN', password: 'hash of HASH', fullName: 'Ann Lee' },
    },
  },
  'a list of data is resolved item by item': {
    call: ({ resolve, resolveData }) => ({
      method: 'create',
      data: [{ n: 1 }, { n: 2 }],
      around: [resolveData(resolve<Fields, unknown>({ n: (n) => Number(n) * 10 }))],
    }),
    expected: { result: [{ n: 10 }, { n: 20 }] },
  },
  'resolvers run one after the other': {
    call: ({ resolve, resolveData }) => ({
      method: 'create',
      data: { n: 1 },
      before: [
        resolveData(
          resolve<Fields, unknown>({ n: async (n) => Number(n) + 1 }),
          resolve<Fields, unknown>({ n: (n) => Number(n) * 10 }),
        ),
      ],
    }),
    expected: { result: { n: 20 } },
  },
  'a converter runs before the functions': {
    call: ({ resolve, resolveData }) => ({
      method: 'create',
      data: { raw: 'Ann' },
      before: [
        resolveData(
          resolve<Fields, unknown>(
            { name: (name) => `${name}!` },
            { converter: async ({ raw }) => ({ name: raw }) },
          ),
        ),
      ],
    }),
    expected: { result: { name: 'Ann!' } },
  },
  'a query is resolved, and one that is missing': {
    call: ({ resolve, resolveQuery }) => ({
      method: 'find',
      returns: () => [],
      before: [resolveQuery(resolve<Fields, unknown>({ owner: () => 7, secret: drop }))],
      provider: 'rest',
    }),
    expected: { result: [], query: { owner: 7 } },
  },
  'a record of the result is resolved': {
    call: around('resolveResult', named, { returns: createAnn }),
    expected: { result: { ...ANN, fullName: 'Ann Lee' }, query: {} },
  },
  'a page keeps its envelope': {
    call: around('resolveResult', named, { method: 'find', returns: createPage, query: {} }),
    expected: { result: { ...PAGE, data: [{ ...ANN, fullName: 'Ann Lee' }] }, query: {} },
  },
  'data of a record that is no page is a field': {
    call: around('resolveResult', named, { returns: () => ({ first: 'A', last: 'B', data: [1] }) }),
    expected: { result: { first: 'A', last: 'B', data: [1], fullName: 'A B' }, query: {} },
  },
  'a selection without virtual names reaches the database': {
    call: around('resolveResult', named, {
      returns: () => ({ id: 1, first: 'Ann' }),
      query: { $select: ['id', 'first'] },
      id: 'id',
    }),
    expected: { result: { id: 1, first: 'Ann' }, query: { $select: ['id', 'first'] } },
  },
  'a selection with a virtual name reads whole records': {
    call: around('resolveResult', named, {
      returns: createAnn,
      query: { $select: ['fullName', 'id'], first: 'Ann' },
      id: 'id',
    }),
    expected: { result: { fullName: 'Ann Lee', id: 1 }, query: { first: 'Ann' } },
  },
  'the id stays with a selection': {
    call: around('resolveResult', named, {
      returns: createAnn,
      query: { $select: ['fullName'] },
      id: 'id',
    }),
    expected: { result: { fullName: 'Ann Lee', id: 1 }, query: {} },
  },
  'a result that is null passes': {
    call: around('resolveResult', named, { returns: () => null }),
    expected: { result: null, query: {} },
  },
  'what goes outside is resolved, and the result stays': {
    call: around('resolveExternal', () => ({ password: drop }), { returns: createAnn }),
    expected: { result: ANN, dispatch: SHOWN },
  },
  'a page of what goes outside keeps its envelope': {
    call: around('resolveExternal', () => ({ password: async () => undefined }), {
      method: 'find',
      returns: createPage,
    }),
    expected: { result: PAGE, dispatch: { ...PAGE, data: [SHOWN] } },
  },
  'a result that is null goes outside': {
    call: around('resolveExternal', () => ({ password: drop }), { returns: () => null }),
    expected: { result: null },
  },
  'a frozen result goes outside': {
    call: around('resolveExternal', () => ({ password: drop }), {
      returns: () => Object.freeze({ ...ANN }),
    }),
    expected: { result: ANN, dispatch: SHOWN },
  },
  'two hooks for what goes outside both count': {
    call: ({ resolve, resolveExternal }) => ({
      returns: createAnn,
      around: [
        resolveExternal(resolve<Fields, unknown>({ last: drop })),
        resolveExternal(resolve<Fields, unknown>({ password: drop })),
      ],
    }),
    expected: { result: ANN, dispatch: { id: 1, first: 'Ann' } },
  },
  'what goes outside is limited to the selection as well': {
    call: ({ resolve, resolveExternal, resolveResult, virtual }) => ({
      returns: createAnn,
      query: { $select: ['id', 'fullName'] },
      id: 'id',
      around: [
        resolveExternal(resolve<Fields, unknown>({ avatar: virtual(() => 'a.png') })),
        resolveResult(resolve<Fields, unknown>({ fullName: virtual(fullName) })),
      ],
    }),
    expected: {
      result: { id: 1, fullName: 'Ann Lee' },
      dispatch: { id: 1, fullName: 'Ann Lee' },
      query: {},
    },
  },
  'an error of a property is told by its name': {
    call: failing(new Forbidden('Not you', { why: 'role' })),
    expected: unresolved({
      first: {
        ...{ name: 'Forbidden', message: 'Not you', code: 403 },
        ...{ className: 'forbidden', data: { why: 'role' } },
      },
    }),
  },
  'a property called message may fail': {
    call: failing(new BadRequest('No'), 'message'),
    expected: unresolved({ message: NO }),
  },
  'a property called errors may fail': {
    call: failing(new BadRequest('No'), 'errors'),
    expected: unresolved({ errors: NO }),
  },
  'an ordinary error of a property is told by its message': {
    call: failing(new Error('Too young')),
    expected: unresolved({ first: { message: 'Too young' } }),
  },
  'a fault of the program is not told': {
    call: failing(new TypeError('secret')),
    expected: unresolved({ first: { message: 'Internal error' } }),
  },
  'an error with a selection names it': {
    call: around(
      'resolveResult',
      () => ({
        first: () => {
          throw new BadRequest('No')
        },
      }),
      { returns: createAnn, query: { $select: ['first', 'id'] }, id: 'id' },
    ),
    expected: unresolved({ first: NO }, '  first.id'),
  },
  'callers outside select no properties by $resolve': {
    call: around('resolveResult', named, {
      returns: createAnn,
      query: { $resolve: ['fullName'] },
      provider: 'rest',
    }),
    expected: {
      error: {
        ...{ name: 'BadRequest', code: 400 },
        message: 'Invalid query parameter $resolve: select properties by $select',
      },
    },
  },
  'names that every object has are no properties': {
    call: around('resolveResult', named, {
      returns: createAnn,
      query: { $select: ['constructor'] },
    }),
    expected: { result: { id: 1 }, query: { $select: ['constructor'] } },
  },
  'resolveResult is no before hook': {
    call: ({ resolve, resolveResult }) => ({
      before: [resolveResult(resolve<Fields, unknown>({}))],
    }),
    expected: misused('The resolveResult hook must be used as an around hook'),
  },
  'resolveExternal is no after hook': {
    call: ({ resolve, resolveExternal }) => ({
      after: [resolveExternal(resolve<Fields, unknown>({}))],
    }),
    expected: misused('The resolveExternal hook must be used as an around hook'),
  },
  'resolveData is no after hook': {
    call: ({ resolve, resolveData }) => ({
      method: 'create',
      data: ANN,
      after: [resolveData(resolve<Fields, unknown>({ first: drop }))],
    }),
    expected: misused('The resolveData hook must be used as a before or an around hook'),
  },
}
