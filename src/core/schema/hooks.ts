// The hooks under one name: the Feathers generator writes `import { hooks as schemaHooks }`.
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
