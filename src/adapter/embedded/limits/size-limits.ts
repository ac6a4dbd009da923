/** The largest document, in bytes. Drivers read these limits in the reply to `hello`. */
export const MAX_DOCUMENT_BYTES: number = 16_777_216

/** The largest message, in bytes. */
export const MAX_MESSAGE_BYTES: number = 48_000_000

/** The most statements of one write command. */
export const MAX_WRITE_BATCH: number = 100_000
