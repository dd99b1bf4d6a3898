import { render } from 'preact';
import { App } from './app.tsx';

const place = document.getElementById('page');
if (place === null) throw new Error('index.html has a place for the page.');
render(<App />, place);
