// Asks the process of the widget. Each question has a number, and its answer comes back under the same.
const PATIENCE = 15000, waiting = new Map();
let asked = 0;

function request(path, params, method) {
  const number = ++asked, words = Object.fromEntries(new URLSearchParams(params));
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.delete(number);
      reject(new Error("The notebook does not answer: evaluate the cell again."));
    }, PATIENCE);
    waiting.set(number, (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    ctx.pushEvent("ask", { number, path, params: words, method });
  });
}

ctx.handleEvent("answer", ({ number, ...answer }) => {
  // One that was given up by now has nobody who waits.
  const answered = waiting.get(number);
  waiting.delete(number);
  if (answered) answered(answer);
});
