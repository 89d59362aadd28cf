// Package browsertest lets tests use pages in a real browser.
//
// New gives a test a tab of its own, with cookies of its own, in a Chromium that the tests of a process share; it
// starts when the first test asks for it. The program is the one that TASKER_TEST_CHROMIUM names, as "make test" does,
// or one that is installed. Without it tests are skipped and say why; with CI=true they fail. The browser does not
// outlive the process, however that ends.
//
// A test with a tab fails if the page has a problem that the test does not expect: an error in the console, an
// exception, a violation of the content security policy, a dialog, a request to another host, an answer of the server
// with status 500 or above, or a style, script, image or font that does not load. The browser resolves no names, so
// nothing leaves the machine.
//
// A method that cannot do its work within a minute ends the test. Methods poll, so that a test never has to wait: what
// a page does after a click is awaited with WaitText, WaitCount and WaitURL.
package browsertest
