export const MAX_DOCUMENT_BYTES: number = 16_777_216
export const MAX_MESSAGE_BYTES: number = 48_000_000
export const MAX_WRITE_BATCH: number = 100_000
