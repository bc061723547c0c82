# Runs outside the sandbox, as root, before bubblewrap: becomes the user that agents are, and then
# bubblewrap, which makes the sandbox with no more rights than that user has.
#
#   perl -e THIS UNSHARE MOUNT SETRESGID SETRESUID USER -- bwrap … -- COMMAND …
#
# The first four: the numbers of these system calls. Directories that the user cannot pass, such
# as the service's own, get an empty one in their place, for bubblewrap alone, that holds what it is
# to bind and nothing else. Ends with 125 where that fails.

my ($unshare, $mount, $setresgid, $setresuid, $user) = map { $_ + 0 } splice @ARGV, 0, 5;
my ($new_mounts, $bind, $tree, $slave) = (1 << 17, 1 << 12, 1 << 14, 1 << 19);  # linux/sched.h, mount.h
my ($no_suid, $no_devices) = (1 << 1, 1 << 2);
my ($root, $none, $memory, $small) = ('/', 'none', 'tmpfs', 'mode=755,size=1m');    # not literals
my $path_only = 010000000 | 02000000;    # O_PATH | O_CLOEXEC

sub fails { print STDERR "user $user: @_: $!\n"; exit 125 }

sub opened {
    my ($path) = @_;
    sysopen my $handle, $path, $path_only or return;
    return ($handle, "/proc/self/fd/" . fileno $handle);
}

sub is_below { my ($path, $top) = @_; index("$path/", "$top/") == 0 }

shift;
chdir '/' or fails('/');
my %sources;
for (my $at = 1; $at < @ARGV and $ARGV[$at] ne '--'; $at++) {
    $ARGV[$at] =~ /^--(?:ro-)?bind(?:-try)?$/ or next;
    my ($handle, $link) = opened($ARGV[++$at]);
    if ($handle) { $ARGV[$at] = readlink $link; $sources{$ARGV[$at]} = 1 }    # without links in it
    $at++;
}

$) = "$user $user";
$> = $user;
my %shut;
for my $path (grep { !-e } keys %sources) {
    my $passed = '';
    for my $name (split m{/}, substr $path, 1) { -e "$passed/$name" or last; $passed .= "/$name" }
    $shut{$passed} = 1;
}
$> = 0;
$) = '0 0';

if (my @tops = sort keys %shut) {
    syscall($unshare, $new_mounts) == 0 or fails('it needs mounts of its own');
    syscall($mount, $none, $root, 0, $tree | $slave, 0) == 0 or fails('its mounts are the machine\'s');
    my @held;
    for my $path (sort keys %sources) {
        grep { is_below($path, $_) } @tops or next;
        my ($handle, $link) = opened($path) or fails($path);
        push @held, [$path, $handle, $link];
    }
    my $mask = umask 022;
    my $flags = $no_suid | $no_devices;
    for my $top (@tops) {
        syscall($mount, $memory, $top, $memory, $flags, $small) == 0 or fails($top);
    }
    for (@held) {
        my ($path, $handle, $link) = @$_;
        my ($last, $passed) = ($path =~ m{([^/]*)$}, '');
        for my $name (split m{/}, substr $path, 1, -length $last) {
            $passed .= "/$name";
            -d $passed or mkdir $passed or fails($passed);
        }
        if (-d $handle) { -d $path or mkdir $path or fails($path) }
        else { -e $path or open my $file, '>', $path or fails($path) }
        syscall($mount, $link, $path, 0, $bind | $tree, 0) == 0 or fails($path);
    }
    umask $mask;
}

$) = "$user $user";
syscall($setresgid, $user, $user, $user) == 0 or fails('it cannot be taken');
syscall($setresuid, $user, $user, $user) == 0 or fails('it cannot be taken');
open my $status, '<', '/proc/self/status' or fails('/proc/self/status');
my $is_taken = 0;
for (<$status>) { $is_taken++ if /^(?:[UG]id:(?:\t$user){4}|Groups:\t$user ?)$/ }
$is_taken == 3 or fails('it cannot be taken');
exec { $ARGV[0] } @ARGV or print STDERR "$ARGV[0]: $!\n";
exit 127;
