# ../two-way.toml in ns-2: twenty NewReno flows in each direction, RED on the forward, DropTail on the reverse path.
source [file join [file dirname [info script]] common.tcl]
foreach {key value} {packetSize_ 500 window_ 10000} {Agent/TCP set $key $value}
foreach {key value} {thresh_ 15 maxthresh_ 45 linterm_ 10 q_weight_ 0.002 gentle_ false adaptive_ 0
                     bytes_ false queue_in_bytes_ false mean_pktsize_ 540} {
  Queue/RED set $key $value
}
set left [$ns node]
set right [$ns node]
set server [$ns node]
limited_link $left $right 10Mb 10ms RED 100
limited_link $right $left 10Mb 10ms DropTail 100
join_hosts $right $server 100Mb 10ms
for {set i 0} {$i < 40} {incr i} {
  set host [$ns node]
  join_hosts $host $left 10Mb 10ms
  if {$i < 20} {greedy Newreno TCPSink $host $server} else {greedy Newreno TCPSink $server $host}
}
go
