package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// format is what -o and its company ask for.
type format struct {
	flags     *genericclioptions.PrintFlags
	noHeaders bool
	// tables are the values of -o that the command prints itself; "" is always one.
	tables []string
	// printer is for all other values; nil for a table.
	printer printers.ResourcePrinter
}

func newFormat(tables ...string) format {
	return format{flags: genericclioptions.NewPrintFlags(""), tables: tables}
}

func (f *format) addFlags(c *cobra.Command, usage string) {
	c.Flags().StringVarP(f.flags.OutputFormat, "output", "o", "", "Output format: "+usage+", json, yaml, jsonpath=..., go-template=..., and kubectl's others")
	f.flags.JSONYamlPrintFlags.AddFlags(c)
	f.flags.TemplatePrinterFlags.AddFlags(c)
	c.Flags().BoolVar(&f.noHeaders, "no-headers", false, "Print no header line")
}

// name is the value of -o.
func (f *format) name() string { return *f.flags.OutputFormat }

// validate finds the printer.
func (f *format) validate() error {
	// Templates may be given by their own flags alone.
	template := f.flags.TemplatePrinterFlags.TemplateArgument
	if f.name() == "" && (template == nil || *template == "") || slices.Contains(f.tables, f.name()) {
		return nil
	}
	printer, err := f.flags.ToPrinter()
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		err = fmt.Errorf("unable to match a printer suitable for the output format %q, allowed formats are: wide,%s",
			f.name(), strings.Join(f.flags.AllowedFormats(), ","))
	}
	if err != nil {
		return usageError{err}
	}
	f.printer = printer
	return nil
}
