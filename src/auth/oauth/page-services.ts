/** The services that browsers are sent to, and that answer with pages and redirects. */
const PAGE_SERVICES = new WeakSet<object>()

/** Marks a service that programs do not call. */
export function markPageService(service: object): void {
  PAGE_SERVICES.add(service)
}

/** Whether a service is one that only browsers are sent to. */
export function isPageService(service: object): boolean {
  return PAGE_SERVICES.has(service)
}
