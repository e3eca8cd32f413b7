defmodule Mote.Chaos.Nodes do
  @moduledoc """
  Three to five nodes under everything at once: joins, leaves, kills, cuts, freezes, full sponsors, small quotas. Every message is
  counted. `bin/prove chaos --nodes`; see `test/support/chaos/README.md`.

  A seed decides the scenario: which nodes there are, how their machines are bounded, and which faults happen in each phase. How
  these meet with the traffic is chance.
  """

  alias Mote.Chaos.Nodes.{Account, Site}
  alias Mote.Chaos.Random
  alias Mote.{Eventually, Mesh}

  @phase_ms 4_000
  @cuts 3
  @kinds [:full, :join, :leave, :rejoin, :freeze, :travel, :stray, :cut, :kill, :process]

  defmodule Scenario do
    @moduledoc "What a seed decides. `phases` are lists of faults: `{milliseconds, fault}`."
    defstruct [:seed, :machines, :members, :keys, :phases]
  end

  @doc "Runs scenarios for that many minutes, or that of a seed; returns how many findings there were of each sort."
  @spec campaign(map) :: %{atom => [integer]}
  def campaign(options) do
    seed = options[:seed] || :os.system_time(:second)
    minutes = options[:for] || 0
    run_until(seed, System.monotonic_time(:millisecond) + round(minutes * 60_000), only(options[:only]), %{})
  end

  defp only(nil), do: @kinds
  defp only(names), do: for(name <- String.split(names, ","), do: Enum.find(@kinds, &(to_string(&1) == name)))

  defp run_until(seed, until, kinds, found) do
    found =
      case run(scenario(seed, kinds)) do
        :held -> found
        {check, _detail} -> Map.update(found, check, [seed], &[seed | &1])
      end

    if System.monotonic_time(:millisecond) < until, do: run_until(seed + 1, until, kinds, found), else: found
  end

  # -- scenarios -----------------------------------------------------------------------------------------------

  @doc "The scenario of a seed, with faults of these kinds."
  def scenario(seed, kinds \\ @kinds) do
    Random.seed(seed)
    count = Random.between(3, 5)
    # What a phase promises depends on what happens in it: most have few kinds.
    phases = Random.several(2, 4, fn -> phase(count, Random.several(1, 3, fn -> Random.one(kinds) end)) end)
    machines = for _ <- 1..count, do: machine()

    %Scenario{
      seed: seed,
      machines: machines,
      members: Random.between(2, count),
      keys: Random.weighted([{4, 200}, {2, 2_000}, {1, 20_000}]),
      phases: phases
    }
  end

  defp machine do
    inbox = if Random.once_in?(2), do: [inbox: Random.between(20, 500)], else: []

    [
      sponsors: [main: [threads: Random.one([1, 2])] ++ inbox],
      memory: Random.one([:infinity, 64 * 1_048_576])
    ]
  end

  defp phase(count, kinds) do
    faults = Random.several(2, 10, fn -> {Random.between(0, @phase_ms), fault(Random.one(kinds), count)} end)
    # What is elsewhere when its node dies is lost: a promise of its own.
    if Enum.any?(faults, &(kind(&1) in [:cut, :kill, :process])),
      do: Enum.sort(Enum.reject(faults, &(kind(&1) == :travel))),
      else: Enum.sort(faults)
  end

  defp kind({_ms, fault}), do: elem(fault, 0)

  defp fault(:cut, count), do: {:cut, Random.between(1, count), Random.between(1, count)}
  defp fault(:travel, count), do: {:travel, Random.between(1, count), Random.between(1, count)}
  defp fault(:stray, count), do: {:stray, Random.between(1, count), Random.between(1, count)}
  defp fault(:full, count), do: {:full, Random.between(1, count), Random.between(100, 3_000)}
  defp fault(:freeze, count), do: {:freeze, Random.between(1, count), Random.between(50, 1_500)}
  defp fault(kind, count), do: {kind, Random.between(1, count)}

  # -- one run -------------------------------------------------------------------------------------------------

  @doc "Runs a scenario; returns `:held`, or the check that failed and what was seen."
  def run(scenario) do
    IO.puts("seed #{scenario.seed}: #{length(scenario.machines)} nodes, #{inspect(kinds(scenario))}")
    sites = for {machine, n} <- Enum.with_index(scenario.machines, 1), do: start(n, 1, machine)
    world = %{sites: Map.new(sites, &{&1.number, &1}), accepted: [], keys: scenario.keys}

    try do
      connect(world)
      for n <- 1..scenario.members, do: Site.at(world.sites[n], :join)
      scenario.phases |> Enum.reduce(world, &phase_of/2) |> end_of_run()
      IO.puts("  held")
      :held
    catch
      {:found, check, detail} ->
        IO.puts("  FOUND #{check}: #{inspect(detail, pretty: true, limit: 60, width: 110)}")
        for {peer, node} <- Process.get(:peers, []), do: IO.puts("  #{node} #{busy(peer)}")
        {check, detail}
    after
      for {pid, _} <- Process.get(:peers, []), do: catch_exit(pid)
    end
  end

  defp busy(peer) do
    inspect(:peer.call(peer, Site, :busy, []), pretty: true, limit: :infinity, width: 130)
  catch
    :exit, reason -> "does not answer: #{inspect(reason)}"
  end

  defp catch_exit(pid) do
    :peer.stop(pid)
  catch
    :exit, _ -> :ok
  end

  defp kinds(scenario),
    do: for(phase <- scenario.phases, do: phase |> Enum.map(&kind/1) |> Enum.uniq())

  defp start(number, life, machine) do
    {peer, node} = Mesh.start_one("chaos#{number}")
    Process.unlink(peer)
    Process.put(:peers, [{peer, node} | Process.get(:peers, [])])
    site = %{peer: peer, node: node, number: number, life: life, machine: machine, pid: nil}
    Site.at(site, :start, [life, machine])
    %{site | pid: :peer.call(peer, System, :pid, [])}
  end

  defp connect(world) do
    nodes = for {_, site} <- world.sites, do: {site.peer, site.node}
    Eventually.eventually(fn -> all_connected?(nodes) end)
  end

  defp all_connected?(nodes) do
    Enum.all?(
      for {peer, own} <- nodes, {_, node} <- nodes, own < node, do: :peer.call(peer, Node, :connect, [node])
    )
  end

  # Traffic while the faults happen; then all heals, and what came is counted.
  defp phase_of(faults, world) do
    settle(world)
    told = told(world)
    targets = for {_, site} <- world.sites, do: {site.node, Site.at(site, :targets)}
    for {_, site} <- world.sites, do: :ok = Site.at(site, :send_to, [targets, world.keys])
    began = System.monotonic_time(:millisecond)
    changed = Enum.reduce(faults, %{world | accepted: []}, &at_its_time(&1, began, &2))
    sleep_until(began + @phase_ms)
    accepted = for {_, site} <- changed.sites, row <- Site.at(site, :stop), do: row
    connect(changed)
    settle(changed)
    kinds = Enum.map(faults, &kind/1)
    world = %{changed | accepted: accepted ++ changed.accepted}
    for {_, site} <- world.sites, do: Site.at(site, :come_home)
    Account.check(world, told, kinds)
    world
  end

  defp at_its_time({ms, fault}, began, world) do
    sleep_until(began + ms)
    do_fault(fault, world)
  end

  defp sleep_until(time), do: Process.sleep(max(0, time - System.monotonic_time(:millisecond)))

  defp do_fault({:cut, n, n}, world), do: world

  # Several times: what the last connection has brought may still wait for a sponsor when the next one begins.
  defp do_fault({:cut, a, b}, world) do
    for _ <- 1..@cuts do
      :peer.call(world.sites[a].peer, :erlang, :disconnect_node, [world.sites[b].node])
      Process.sleep(:rand.uniform(60))
    end

    world
  end

  defp do_fault({:freeze, n, ms}, world) do
    signal(world.sites[n], "STOP")
    Process.sleep(ms)
    signal(world.sites[n], "CONT")
    world
  end

  defp do_fault({:kill, n}, world) do
    site = world.sites[n]
    signal(site, "KILL")
    new = start(n, site.life + 1, site.machine)
    world = put_in(world.sites[n], new)
    connect(world)
    world
  end

  defp do_fault({:full, n, ms}, world) do
    Site.at(world.sites[n], :fill, [ms])
    world
  end

  defp do_fault({:process, n}, world) do
    Site.at(world.sites[n], :kill_one)
    world
  end

  defp do_fault({:travel, a, b}, world) do
    row = Site.at(world.sites[a], :travel, [world.sites[b].node])
    update_in(world.accepted, &[row | &1])
  end

  defp do_fault({:stray, a, b}, world) do
    Site.at(world.sites[a], :stray, [world.sites[b].node, world.keys])
    world
  end

  # Only where others stay: what the last members have ends with them.
  defp do_fault({:leave, n}, world) do
    if others_stay?(n, world), do: Site.at(world.sites[n], :leave)
    world
  end

  # Several at once, beside the other faults: some give to those that leave again.
  defp do_fault({:rejoin, n}, world) do
    if others_stay?(n, world), do: Site.at(world.sites[n], :rejoin)
    world
  end

  defp do_fault({:join, n}, world) do
    Site.at(world.sites[n], :join)
    world
  end

  # The first two are members from the beginning and never leave; but those that were killed are none any more.
  defp others_stay?(n, world), do: n > 2 and Enum.any?(1..2, &Site.at(world.sites[&1], :member?))

  defp signal(site, name), do: {_, 0} = System.cmd("kill", ["-#{name}", site.pid])

  defp told(world),
    do: Map.new(world.sites, fn {_, site} -> {site.node, {site.life, Site.at(site, :told_lost)}} end)

  # All members agree, and nothing waits to be sent.
  defp settle(world) do
    Account.within(60_000, :never_settled, fn ->
      members = for {_, site} <- world.sites, Site.at(site, :member?), do: site

      unsettled =
        for site <- members, not Site.at(site, :settled?, [length(members)]), do: {:unsettled, site.node}

      unsettled ++ for {_, site} <- world.sites, not Site.at(site, :quiet?), do: {:not_quiet, site.node}
    end)
  end

  defp end_of_run(world) do
    for {_, site} <- world.sites,
        crash <- Site.at(site, :crashes),
        do: throw({:found, :crashed, {site.node, crash}})

    world
  end
end
