// Package test holds the tests of the project as a whole: who may import whom,
// and what no package may do. The folders below it test the program from
// outside.
package test
