// Command screenshots turns what a terminal shows into a picture: text with the
// terminal's colour sequences on its input (`tmux capture-pane -e -p`) becomes an SVG
// file on its output. run.sh beside it makes the pictures of the README of a real run.
package main
