# Runs inside the sandbox, before a command: from here on the kernel lets it, and all that it
# starts, do to files only what is allowed below these paths, and becomes the command.
#
#   perl -e THIS HANDLED SCOPED ALLOWED PATH … -- COMMAND …
#
# HANDLED and SCOPED: what is refused wherever nothing allows it; numbers of linux/landlock.h. What
# is not there needs no rule. Ends with 125 where the wall does not stand.

my ($create, $add, $restrict) = (444, 445, 446);    # asm/unistd.h, alike on all architectures
my $of_files = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14 | 1 << 15;    # all others are of directories
my $path_only = 010000000 | 02000000;    # O_PATH | O_CLOEXEC

sub stands_not { print STDERR "Landlock: @_: $!\n"; exit 125 }

my ($handled, $scoped) = (shift() + 0, shift() + 0);
my $wanted = pack 'QQQ', $handled, 0, $scoped;
my $rules = syscall $create, $wanted, length $wanted, 0;
stands_not('no ruleset') if $rules < 0;
while (@ARGV and $ARGV[0] ne '--') {
    my ($allowed, $path) = (shift() + 0, shift);
    sysopen my $place, $path, $path_only or next;
    my $rule = pack 'Ql', -d $place ? $allowed : $allowed & $of_files, fileno $place;
    syscall($add, $rules, 1, $rule, 0) == 0 or stands_not($path);
}
shift;
syscall($restrict, $rules, 0) == 0 or stands_not('not restricted');
exec { $ARGV[0] } @ARGV or print STDERR "$ARGV[0]: $!\n";
exit 127;
