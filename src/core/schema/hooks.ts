// The hooks under one name: generators of Feathers write `import { hooks as schemaHooks }`.
export { setDispatch } from '../external-form.ts'
export { getDispatch, getDispatchValue } from './resolvers/dispatch.ts'
export { resolveData } from './resolvers/resolve-data.ts'
export { resolveDispatch, resolveExternal } from './resolvers/resolve-external.ts'
export { resolveQuery } from './resolvers/resolve-query.ts'
export { resolveResult } from './resolvers/resolve-result.ts'
export { validateData } from './validation/validate-data.ts'
export { validateQuery } from './validation/validate-query.ts'
