// Creates elements. Text becomes text nodes, never markup, since a model wrote much of it.

/** @typedef {Node | string | number | null | undefined | false} Child */
/** @typedef {Record<string, string | number | boolean | undefined | ((event: any) => void)>} Attributes */

/**
 * An element with attributes (`onclick` and the like are listeners; false and undefined are left out) and children.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  setAttributes(element, attributes);
  element.append(...children.flat().filter(isShown));
  return element;
}

/**
 * The same for SVG.
 * @param {string} tag
 * @param {Attributes} [attributes]
 * @param {...(Child | Child[])} children
 */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  setAttributes(element, attributes);
  element.append(...children.flat().filter(isShown));
  return element;
}

/**
 * @param {Element} element
 * @param {Attributes} attributes
 */
function setAttributes(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
}

/**
 * Strings and numbers are appended as text.
 * @param {Child} child
 * @returns {child is Node | string}
 */
function isShown(child) {
  return child !== null && child !== undefined && child !== false;
}

/**
 * A table with a header row.
 * @param {readonly Child[]} head
 * @param {readonly HTMLTableRowElement[]} rows
 * @param {Attributes} [attributes]
 */
export function table(head, rows, attributes = {}) {
  const cells = head.map((cell) => h('th', { scope: 'col' }, cell));
  return h(
    'div',
    { class: 'wide' },
    h('table', attributes, h('thead', {}, h('tr', {}, ...cells)), h('tbody', {}, ...rows)),
  );
}
