// Package browsertest lets tests use pages in a real browser.
//
// New gives a test a tab with separate cookies, in a Chromium that the tests of a process share; it starts at first
// use. TASKER_TEST_CHROMIUM names the program, as in "make test"; the default is an installed one. Without it tests are
// skipped with a reason; with CI=true they fail. The browser does not outlive the process, however that ends.
//
// A test fails on unexpected problems of a page: an error in the console, an exception, a violation of the content
// security policy, a dialog, a request to another host, a status of 500 or above, or a style, script, image or font
// that does not load. The browser resolves no names, so nothing leaves the machine.
//
// A method that cannot do its work within a minute ends the test. Methods poll: await the effects of a click with
// WaitText, WaitCount and WaitURL.
package browsertest
