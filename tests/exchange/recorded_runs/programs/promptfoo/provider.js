// Answers without a model: a provider of promptfoo's own kind.
const PLAIN = { moons: 'number', Eiffel: 'location', Hamlet: 'person', marathon: 'number', Louvre: 'location', Guernica: 'location' };
const POLITE = { moons: 'number', Eiffel: 'It is a location', Hamlet: 'person', marathon: 'location', Louvre: 'location', Guernica: 'person' };
class Mock {
  constructor(options) { this.name = options.id || 'mock'; }
  id() { return this.name; }
  async callApi(prompt) {
    const answers = prompt.startsWith('Classify') ? PLAIN : POLITE;
    const word = Object.keys(answers).find((key) => prompt.includes(key));
    return { output: answers[word], tokenUsage: { total: 24, prompt: 20, completion: 4 }, cost: 0.0001 };
  }
}
module.exports = Mock;
