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
export type { DataSchema, JSONSchema, StandardSchema } from '../services/service-schemas.ts'
export * from './hooks.ts'
/** The hooks, as programs written for Feathers import them. */
export * as hooks from './hooks.ts'
export type { QuerySyntaxOptions } from './queries/query-syntax.ts'
export { queryProperties, queryProperty, querySyntax } from './queries/query-syntax.ts'
export type {
  PropertyQueries,
  PropertyQuery,
  QueryExtensions,
  SyntaxQuery,
} from './queries/query-type.ts'
export type {
  PropertyFunction,
  PropertyResolver,
  PropertyResolverMap,
  ResolverConfig,
  ResolverOptions,
  ResolverSchema,
  ResolverStatus,
  VirtualResolver,
} from './resolvers/resolver.ts'
export { Resolver, resolve, virtual } from './resolvers/resolver.ts'
export type {
  AnyResolver,
  AroundResolverHook,
  ResolverHook,
} from './resolvers/resolver-call.ts'
export type { Served } from './served.ts'
export type { DefaultAppConfiguration } from './typebox/app-settings.ts'
export { defaultAppConfiguration, defaultAppSettings } from './typebox/app-settings.ts'
export type { DateSchemaOptions, FromSchema, StringEnumOptions } from './typebox/field-types.ts'
export { DateSchema, StringEnum } from './typebox/field-types.ts'
/**
 * TypeBox, except that `Pick`, `Omit`, `Partial` and `Required` keep closed objects closed, and that
 * `Intersect` with the option `additionalProperties` makes one object of several.
 */
export * as Type from './typebox/type.ts'
export { Ajv, addFormats, keywordDate } from './validation/ajv.ts'
export type { ValidationIssue } from './validation/validation-error.ts'
export type {
  SchemaWithValidate,
  ValidateQueryOptions,
  ValidationCall,
  ValidationHook,
  ValidationInput,
  ValidationMap,
  ValidatorFunction,
} from './validation/validation-hooks.ts'
export type {
  DataSchemaMap,
  DataValidatorMap,
  SchemaCompiler,
  Validator,
} from './validation/validator.ts'
export { getDataValidator, getValidator } from './validation/validator.ts'
