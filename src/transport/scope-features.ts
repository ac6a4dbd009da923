import { fileRoutes } from './files/content.ts'
import type { ScopePart } from './scope-parts.ts'

/** All parts that features add to the scope of services. To delete one, remove its folder and its entry here. */
export const SCOPE_FEATURES: readonly ScopePart[] = [fileRoutes]
