// The hooks under one name: generators of Feathers write `import { hooks as schemaHooks }`.
export { setDispatch } from '../external-form.ts'
export {
  getDispatch,
  getDispatchValue,
  resolveData,
  resolveDispatch,
  resolveExternal,
  resolveQuery,
  resolveResult,
} from './resolvers/resolver-hooks.ts'
export { validateData, validateQuery } from './validation/validation-hooks.ts'
