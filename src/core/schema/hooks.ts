// What `import { hooks as schemaHooks } from '@feathersjs/schema'` gives, as generators of Feathers write it.
export { setDispatch } from '../external-form.ts'
export { getDispatch, getDispatchValue } from './resolvers/dispatch.ts'
export { resolveData } from './resolvers/resolve-data.ts'
export { resolveDispatch, resolveExternal } from './resolvers/resolve-external.ts'
export { resolveQuery } from './resolvers/resolve-query.ts'
export { resolveResult } from './resolvers/resolve-result.ts'
