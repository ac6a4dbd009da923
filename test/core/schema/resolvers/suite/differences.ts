import type { Outcome } from './room.ts'

/** What `@feathersjs/schema` does in another way. */
interface Difference {
  /** Why it is not done so here. */
  readonly reason: string
  readonly instead: Outcome
}

const NO_OBJECT = {
  error: { name: 'TypeError', message: 'Cannot convert undefined or null to object' },
}

/** By the titles of the cases. */
export const DIFFERENCES: Readonly<Record<string, Difference>> = {
  'the id stays with a selection': {
    reason: 'there a record that is selected can not be addressed any more',
    instead: { result: { fullName: 'Ann Lee' }, query: {} },
  },
  'names that every object has are no properties': {
    reason: 'there what all objects inherit is selected, or called',
    instead: { result: { constructor: Object }, query: { $select: ['constructor'] } },
  },
  'a result that is null passes': {
    reason: 'there the call fails after the method has done its work',
    instead: NO_OBJECT,
  },
  'a result that is null goes outside': {
    reason: 'there the call fails after the method has done its work',
    instead: NO_OBJECT,
  },
  'a frozen result goes outside': {
    reason: 'there the call fails after the method has done its work',
    instead: {
      error: {
        name: 'TypeError',
        message:
          'Cannot define property Symbol(@feathersjs/schema/dispatch), object is not extensible',
      },
    },
  },
  'two hooks for what goes outside both count': {
    reason: 'there the outer hook does nothing, whatever it was to hide',
    instead: {
      result: { id: 1, first: 'Ann', last: 'Lee', password: 'HASH' },
      dispatch: { id: 1, first: 'Ann', last: 'Lee' },
    },
  },
  'a property called message may fail': {
    reason: 'there it takes the place of the message of the error',
    instead: {
      error: { name: 'BadRequest', message: '[object Object]', code: 400, data: {} },
    },
  },
  'a property called errors may fail': {
    reason: 'there it is moved out of the data of the error',
    instead: {
      error: { name: 'BadRequest', message: 'Error resolving data', code: 400, data: {} },
    },
  },
  'a fault of the program is not told': {
    reason: 'there callers read the message of any error',
    instead: {
      error: {
        name: 'BadRequest',
        message: 'Error resolving data',
        code: 400,
        data: { first: { message: 'secret' } },
      },
    },
  },
  'callers outside select no properties by $resolve': {
    reason: 'there a schema of the query does not see this parameter, which the hook takes away',
    instead: { result: { fullName: 'Ann Lee' }, query: {} },
  },
  'resolveResult is no before hook': {
    reason: 'there it is an ordinary error, which callers outside read',
    instead: {
      error: { name: 'Error', message: 'The resolveResult hook must be used as an around hook' },
    },
  },
  'resolveExternal is no after hook': {
    reason: 'there it is an ordinary error, which callers outside read',
    instead: {
      error: { name: 'Error', message: 'The resolveExternal hook must be used as an around hook' },
    },
  },
  'resolveData is no after hook': {
    reason: 'there data is changed that nobody reads any more',
    instead: { result: { id: 1, first: 'Ann', last: 'Lee', password: 'HASH' } },
  },
}
