/**
 * Applications, services, hooks, events and errors, without HTTP; runs in browsers too.
 * @module remex/core
 */

export type { AnyApplication, ServiceObserver } from './app.ts'
export { Application } from './app.ts'
export type {
  ApplicationHookOptions,
  AroundHook,
  EventListener,
  Hook,
  HookOptions,
  LifecycleContext,
  LifecycleHook,
  MethodEntry,
  NextFunction,
  ServiceAddons,
  ServiceMixin,
} from './application-defaults.ts'
export { findServiceEntry, HookContext, ServiceEntry } from './application-defaults.ts'
export { createApp } from './create-app.ts'
export type { DeclaredTypes, DeclaredUser, ServiceExtensions } from './declared-types.ts'
export type { Listener } from './emitter.ts'
export { Emitter } from './emitter.ts'
export * from './errors/index.ts'
export { noteEvent } from './event-note.ts'
export type { ExternalForm } from './external-form.ts'
export { addExternalForm, copyExternalForms, toExternalForm } from './external-form.ts'
export type { HookType, HttpAnswer } from './hook-context.ts'
export type { Logger } from './logger.ts'
export type { MethodName } from './method-name.ts'
export type { MethodSpec, StandardMethod } from './method-table.ts'
export { CUSTOM_METHOD, isStandardMethod, METHOD_TABLE } from './method-table.ts'
export type {
  AuthenticationRequest,
  Headers,
  Id,
  IdObject,
  NullableId,
  Page,
  Paginated,
  Params,
  Query,
} from './params.ts'
export type { RecordConditions, RecordQuery } from './record-query.ts'
export { callMethod, createContext, runMethod } from './run-method.ts'
export type { AnyService, AnyServices, RegisteredService, ServiceInput } from './service-map.ts'
export type { ServiceOptions } from './service-options.ts'
export { stripSlashes, toServicePath } from './service-path.ts'
