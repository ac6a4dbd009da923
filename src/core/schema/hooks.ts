// The hooks under one name: generators of Feathers write `import { hooks as schemaHooks }`.
export { setDispatch } from '../external-form.ts'
export { resolveData, resolveQuery } from './resolvers/resolve-data.ts'
export {
  getDispatch,
  getDispatchValue,
  resolveDispatch,
  resolveExternal,
  resolveResult,
} from './resolvers/resolve-result.ts'
export { validateData, validateQuery } from './validation/validation-hooks.ts'
