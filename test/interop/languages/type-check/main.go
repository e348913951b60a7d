// Reports the type errors of a module. Unlike go vet, it compiles none of the packages on which the module depends.
package main

import (
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	found, err := packages.Load(&packages.Config{Dir: os.Args[1], Mode: packages.LoadAllSyntax, Tests: true}, "./...")
	if err != nil || packages.PrintErrors(found) > 0 {
		os.Exit(1)
	}
}
