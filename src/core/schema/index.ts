/**
 * Schemas of data, queries and results: validation, resolvers, and types that follow from them.
 * @module remex/schema
 */

export type { FormatName, FormatOptions, FormatsPluginOptions } from 'ajv-formats'
export type {
  Static,
  TArray,
  TObject,
  TOptional,
  TProperties,
  TSchema,
  TString,
  TUnion,
  TUnsafe,
} from 'typebox'
export { setDispatch } from '../external-form.ts'
export type { DataSchema, JSONSchema, StandardSchema } from '../services/service-schemas.ts'
/** The hooks, as programs that were written for Feathers import them. */
export * as hooks from './hooks.ts'
export { queryProperties, queryProperty } from './queries/query-property.ts'
export type { QuerySyntaxOptions } from './queries/query-syntax.ts'
export { querySyntax } from './queries/query-syntax.ts'
export type {
  PropertyQueries,
  PropertyQuery,
  QueryExtensions,
  SyntaxQuery,
} from './queries/query-type.ts'
export { getDispatch, getDispatchValue } from './resolvers/dispatch.ts'
export type {
  PropertyFunction,
  PropertyResolver,
  PropertyResolverMap,
  ResolverStatus,
  VirtualResolver,
} from './resolvers/property-resolver.ts'
export { virtual } from './resolvers/property-resolver.ts'
export { resolveData } from './resolvers/resolve-data.ts'
export { resolveDispatch, resolveExternal } from './resolvers/resolve-external.ts'
export { resolveQuery } from './resolvers/resolve-query.ts'
export { resolveResult } from './resolvers/resolve-result.ts'
export type { ResolverConfig, ResolverOptions, ResolverSchema } from './resolvers/resolver.ts'
export { Resolver, resolve } from './resolvers/resolver.ts'
export type { AnyResolver, AroundResolverHook, ResolverHook } from './resolvers/resolver-hook.ts'
export type { Served } from './served.ts'
export type { DefaultAppConfiguration } from './typebox/app-settings.ts'
export { defaultAppConfiguration, defaultAppSettings } from './typebox/app-settings.ts'
export type { FromSchema } from './typebox/from-schema.ts'
export type { StringEnumOptions } from './typebox/string-enum.ts'
export { StringEnum } from './typebox/string-enum.ts'
/**
 * TypeBox, but that `Pick`, `Omit`, `Partial` and `Required` keep closed what is closed, and that
 * `Intersect` with the option `additionalProperties` makes one object of several.
 */
export * as Type from './typebox/type.ts'
export { Ajv } from './validation/ajv.ts'
export type { DataSchemaMap, DataValidatorMap } from './validation/data-validator.ts'
export { getDataValidator } from './validation/data-validator.ts'
export { keywordDate } from './validation/date-keyword.ts'
export type { DateSchemaOptions } from './validation/date-schema.ts'
export { DateSchema } from './validation/date-schema.ts'
export { addFormats } from './validation/formats.ts'
export type { ValidationMap } from './validation/validate-data.ts'
export { validateData } from './validation/validate-data.ts'
export type { ValidateQueryOptions } from './validation/validate-query.ts'
export { validateQuery } from './validation/validate-query.ts'
export type { ValidationIssue } from './validation/validation-error.ts'
export type {
  SchemaWithValidate,
  ValidationCall,
  ValidationHook,
  ValidationInput,
  ValidatorFunction,
} from './validation/validation-hook.ts'
export type { SchemaCompiler, Validator } from './validation/validator.ts'
export { getValidator } from './validation/validator.ts'
