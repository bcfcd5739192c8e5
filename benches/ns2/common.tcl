# Common part of the twins in ns-2: options, the network, counting, TCP and web sessions as in their scenarios.
#
#   ns TWIN.tcl [-seed 1] [-end SECONDS] [-stats 0]
#
# prints {"arrivals": ..., "drops": ...}, packets offered to and dropped at the queues that the scenario records, unless
# -stats is 0: then ns-2 counts nothing and is faster.
array set o {-seed 1 -end 200 -warm 0 -stats 1}
array set o $argv
# The bookkeeping for nam is quadratic in the number of links and is not needed here.
Simulator instproc register-nam-linkconfig args {}
Simulator instproc remove-nam-linkconfig args {}
set ns [new Simulator]
$defaultRNG seed $o(-seed)
set start [new RNG]
# Limit of every queue without a finite buffer.
Queue set limit_ 1000000

# Join two nodes by a link whose queues never drop.
proc join_hosts {a b rate delay} {
  $::ns duplex-link $a $b $rate $delay DropTail
}

# A one-way link with a finite queue, which is counted.
proc limited_link {a b rate delay kind limit} {
  $::ns simplex-link $a $b $rate $delay $kind
  $::ns queue-limit $a $b $limit
  if {$::o(-stats)} {lappend ::monitors [$::ns monitor-queue $a $b ""]}
}

# An endless flow that starts at a random moment of the first second.
proc greedy {kind sink from to} {
  set tcp [new Agent/TCP/$kind]
  $::ns attach-agent $from $tcp
  set end [new Agent/$sink]
  $::ns attach-agent $to $end
  $::ns connect $tcp $end
  set ftp [new Application/FTP]
  $ftp attach-agent $tcp
  $::ns at [$::start uniform 0 1] "$ftp start"
}

# Datagrams of one size in bytes at a constant rate, from a random moment of the first second.
proc constant {from to rate bytes random} {
  set udp [new Agent/UDP]
  $udp set packetSize_ $bytes
  $::ns attach-agent $from $udp
  set null [new Agent/Null]
  $::ns attach-agent $to $null
  $::ns connect $udp $null
  set cbr [new Application/Traffic/CBR]
  foreach {key value} [list packetSize_ $bytes rate_ $rate random_ $random] {$cbr set $key $value}
  $cbr attach-agent $udp
  $::ns at [$::start uniform 0 1] "$cbr start"
}

# A random variable: `random Pareto avg_ 12 shape_ 1.2`.
proc random {kind args} {
  set variable [new RandomVariable/$kind]
  foreach {key value} $args {$variable set $key $value}
  return $variable
}

# Web sessions without end; `first` is the random start of each, `gap_from` 1: from the end of a page, 0: its start.
proc sessions {count clients servers first page_gap gap_from objects object_gap size} {
  set pool [new PagePool/WebTraf]
  $pool set-num-client [llength $clients]
  $pool set-num-server [llength $servers]
  set i -1; foreach node $clients {$pool set-client [incr i] $node}
  set i -1; foreach node $servers {$pool set-server [incr i] $node}
  $pool set-num-session $count
  for {set i 0} {$i < $count} {incr i} {
    $pool create-session $i 1000000000 [$first value] $page_gap $objects $object_gap $size
  }
  $pool set-interPageOption $gap_from
}

# By default both connections of an object begin with a SYN. Here the answer uses the connection that the request has
# opened.
proc before {procedure lines} {
  PagePool/WebTraf instproc $procedure [PagePool/WebTraf info instargs $procedure] \
    "$lines\n[PagePool/WebTraf info instbody $procedure]"
}
before launch-req {$ctcp set syn_ true; $ctcp set delay_growth_ true; $ctcp reset}
before launch-resp {$stcp set syn_ false; $stcp set delay_growth_ false; $stcp reset}

proc go {} {
  $::ns at $::o(-end) {
    if {$o(-stats)} {
      set arrivals 0; set drops 0
      foreach monitor $monitors {
        incr arrivals [$monitor set parrivals_]
        incr drops [$monitor set pdrops_]
      }
      puts "{\"arrivals\": $arrivals, \"drops\": $drops}"
    }
    exit 0
  }
  $::ns run
}
