/**
 * Webhooks: signed requests that tell other servers what services have written.
 * @module remex/webhooks
 */

export type { WebhookAnswer, WebhookDelivery } from './webhook-delivery.ts'
export type { NewWebhookEndpoint, WebhookEndpoint } from './webhook-endpoints.ts'
export type { MayReceive } from './webhook-events.ts'
export type { WebhookDeliveryService, WebhookService, WebhooksOptions } from './webhooks.ts'
export { webhooks } from './webhooks.ts'
