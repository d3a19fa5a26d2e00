// Package oracle judges a run.
package oracle
