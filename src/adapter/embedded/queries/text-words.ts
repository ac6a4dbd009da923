/**
 * A word: what stands between the delimiters of text indexes of version 3. The last three are what
 * Unicode's property `Hyphen` has and JavaScript's `Dash` has not.
 * @see https://www.mongodb.com/docs/v7.0/core/indexes/index-types/index-text/text-index-versions/
 */
const WORD =
  /[^\p{White_Space}\p{Dash}\p{Quotation_Mark}\p{Terminal_Punctuation}\p{Pattern_Syntax}\u00AD\u30FB\uFF65]+/gu

const ABOVE_ASCII = /[\u0080-\uFFFF]/
const DIACRITICS = /\p{Diacritic}/gu

/** Returns the words of a text in their order, folded. */
export function toWords(text: string): string[] {
  return Array.from(text.matchAll(WORD), ([word]) => foldText(word))
}

/** Returns a text as it is compared: without differences of case and of diacritics. */
export function foldText(text: string): string {
  if (!ABOVE_ASCII.test(text)) return text.toLowerCase().replace(DIACRITICS, '')
  return Array.from(text, (character) => removeDiacritics(foldCase(character))).join('')
}

/**
 * Folds one character to one character, as MongoDB does: `ß` stays, and so do the two letters that
 * only Turkish has.
 */
function foldCase(character: string): string {
  if (character === 'ı') return character
  const upper = character.toUpperCase()
  const lower = (isOne(upper) ? upper : character).toLowerCase()
  return isOne(lower) ? lower : character
}

/** A character that would become several stays as it is. */
function removeDiacritics(character: string): string {
  if (character.replace(DIACRITICS, '') === '') return ''
  const bare = character.normalize('NFD').replace(DIACRITICS, '').normalize('NFC')
  return isOne(bare) ? bare : character
}

function isOne(text: string): boolean {
  return text.length === 1 || (text.length === 2 && (text.codePointAt(0) ?? 0) > 0xffff)
}
