import type { Application as FeathersApplication } from '@feathersjs/feathers'

// As applications declare it that use packages which add to that type; for them it is module 'remex'.
declare module '../../src/core/declared-types.ts' {
  interface DeclaredTypes {
    feathers: FeathersApplication
  }
}
