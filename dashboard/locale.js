// uPlot formats numbers in the browser's language when it is loaded, and fails where that is none: `en-US@posix`, of a browser without a locale.
try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, 'language', { value: 'en' });
}
