/** A service that browsers are sent to, and that answers with pages and redirects. */
export abstract class PageService {}

/** Whether a service is one that only browsers are sent to, and no program calls. */
export function isPageService(service: object): boolean {
  return service instanceof PageService
}
