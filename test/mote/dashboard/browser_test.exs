defmodule Mote.Dashboard.BrowserTest do
  # The page in a browser without a window, where there is one: `apt-get install chromium`.
  use ExUnit.Case, async: true
  import Mote.Eventually

  alias Mote.{Actors, Chromium, Dashboard, Holders}

  @moduletag skip: Chromium.executable() == nil and "Chromium is not installed"
  @moduletag :tmp_dir

  if Chromium.executable() == nil,
    do: IO.puts("The page of Mote.Dashboard is not tested in a browser: Chromium is not installed.")

  test "shows a machine, leads to an actor, traces, pauses and steps", %{tmp_dir: folder} do
    machine = start_supervised!({Mote, name: Mote.DashboardTest.Shown, sponsors: [main: [threads: 1]]})
    counter = Mote.create(machine, Actors.counter(41))
    holder = Mote.create(machine, Holders.holder([counter, "<b>not bold</b>"]))
    url = Dashboard.url(start_supervised!({Dashboard, machine: machine}))
    browser = Chromium.open(url, folder)

    text = fn id -> Chromium.run(browser, "document.getElementById('#{id}')?.textContent") end
    click = fn id -> Chromium.run(browser, "document.getElementById('#{id}').click()") end
    # The first link of a list whose text has a part.
    follow = fn list, part ->
      link =
        "[...document.querySelectorAll('##{list} .link')].find((link) => link.textContent.includes('#{part}'))"

      Chromium.run(browser, "(#{link}).click()")
    end

    assert eventually(fn -> text.("state") == "running" end)
    assert text.("name") == "Mote.DashboardTest.Shown"
    assert eventually(fn -> text.("sponsors") =~ ":main" end)

    click.("survey")
    assert eventually(fn -> text.("behaviours") =~ "Mote.Holders.holder/1" end)
    Chromium.run(browser, "document.getElementById('by').value = 'bytes'")
    follow.("behaviours", "Holders.holder")

    assert eventually(fn ->
             text.("of-name") == "of Mote.Holders.holder/1" and text.("actors") =~ "#Mote.Address"
           end)

    follow.("actors", "#Mote.Address")
    # What is written in a state is text, not a part of the page.
    assert eventually(fn -> text.("captures") =~ "<b>not bold</b>" end)
    assert Chromium.run(browser, "document.querySelectorAll('#captures b').length") == "0"
    assert eventually(fn -> text.("graph") =~ "Actors.counter/1" end)

    Chromium.run(
      browser,
      "document.querySelectorAll('#graph g[role=button]')[0].dispatchEvent(new Event('click'))"
    )

    assert eventually(fn ->
             text.("actor-behaviour") == "Mote.Actors.counter/1" and text.("captures") == "41"
           end)

    click.("trace")
    assert eventually(fn -> text.("trace") == "Stop" end)
    Mote.send(counter, {:add, 1})
    assert eventually(fn -> text.("turns") =~ "Mote.Actors.counter(41) <- {:add, 1}" end)

    click.("pause")
    assert eventually(fn -> text.("state") == "paused" and text.("pause") == "Resume" end)
    assert Mote.info(machine).paused
    Mote.send(counter, {:add, 2})
    click.("step")
    assert eventually(fn -> text.("turns") =~ "Mote.Actors.counter(42) <- {:add, 2}" end)
    click.("pause")
    assert eventually(fn -> text.("state") == "running" end)
    refute Mote.info(machine).paused
    assert text.("error") == ""
    # Nothing else holds it.
    assert %{sponsor: :main} = Mote.info(holder)

    :ok = stop_supervised(Mote.DashboardTest.Shown)
    assert eventually(fn -> text.("state") == "stopped" end)
    Chromium.close(browser)
  end
end
